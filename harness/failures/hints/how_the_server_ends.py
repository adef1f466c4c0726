"""The hints of docs/reading-failures.md#how-the-server-ends, by their keys."""

TEXTS = {
    "sigpipe": (
        "Writing to a connection that the other side has closed raises SIGPIPE, which ends the "
        "process. Send with MSG_NOSIGNAL, or ignore SIGPIPE. The call then fails with EPIPE, and "
        "only this connection has to be closed."
    ),
    "divided-by-zero": (
        "SIGFPE: an integer was divided by 0, with / or with %. Which number can be 0 with these "
        "options?"
    ),
    "sigpipe-not-ignored": (
        "SIGPIPE ended the server. MSG_NOSIGNAL is for sockets alone: a line of the log raises the "
        "signal when stderr is a pipe that nobody reads any more. Ignore it once, where the "
        "handlers of signals are installed; then such a write fails with EPIPE, and the log is "
        "lost."
    ),
    "crashed": (
        "A signal ended the server, and so every connection. It was at the line that `crashed` "
        "shows; stderr may say more. If that line is right, memory was overwritten earlier: `make "
        "memcheck` often finds where."
    ),
    "ended-early": (
        "The server ended by itself, and so did every connection. Nothing that a client does may "
        "end the server. Look for exit(), for a return from main(), and for a loop that is left."
    ),
    "over-limit": (
        "The grader ended the server, because it used far more than any server of this lab needs. "
        "The line `server` says of what. Is memory given back, and does the log repeat itself?"
    ),
    "not-ended": (
        "SIGTERM asks the server to end: leave the loop, close every descriptor, free all memory, "
        "exit with 0. The signal interrupts a blocking system call (EINTR). Does the server still "
        "wait for a client, or for another thread?"
    ),
    "wrong-exit": (
        "After SIGTERM or SIGINT the exit status has to be 0. Let the handler set a flag, and let "
        "the loop check it. EINTR is not an error then."
    ),
    "grace-listens": (
        "After a signal, a server with --grace accepts no client any more, so that a load balancer "
        "sends new ones to another server. Close the listening socket at once: connect() has to be "
        "refused while the last clients are served."
    ),
    "grace-owed": (
        "The server was asked to end, and did not send a reply that it owed. With --grace a "
        "connection ends only when nothing is owed: no output, no alarm, no frame that waits for "
        "the quota or the next budget, and no byte in the socket that is unread."
    ),
    "grace-idle": (
        "The server was asked to end, and a connection that owes nothing was not closed, or the "
        "server did not end after the last one. No event comes from an idle client: give each "
        "connection a turn when the end begins."
    ),
    "grace-early": (
        "The server ended while it owed replies, and the time of --grace was not over. Set one "
        "timer when the signal comes, for the whole time."
    ),
    "grace-late": (
        "The time of --grace was over, and the server did not end. Set one timer when the signal "
        "comes, which no progress of a client sets again. When it is due the server ends, whatever "
        "is owed."
    ),
    "ended-by-a-signal": (
        "A signal interrupted a waiting call, which returned -1 with EINTR. That is not an error: "
        "call again, or start the next iteration of the loop."
    ),
}
