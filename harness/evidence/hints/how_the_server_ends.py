"""The hints of docs/reading-failures.md#how-the-server-ends, by their keys."""

TEXTS = {
    "sigpipe": (
        "Writing to a connection that the other side has closed raises SIGPIPE, which ends the "
        "process. Send with MSG_NOSIGNAL, or ignore SIGPIPE: then the call fails with EPIPE, and "
        "only this connection has to be closed."
    ),
    "crashed": (
        "A signal ended the server, so the connection went with it. `crashed` is the line that it "
        "was in, and stderr may say more. If nothing is wrong with that line, memory was spoilt "
        "earlier: `make memcheck` often finds where."
    ),
    "ended-early": (
        "The server ended by itself, and the connection went with it. Nothing that a client does "
        "may end the server: look for exit(), a return from main(), a loop that is left."
    ),
    "over-limit": (
        "The grader ended the server, because it used far more than any server of this lab needs: "
        "the line `server` says of what. Is memory given back? Does the log repeat itself?"
    ),
    "not-ended": (
        "SIGTERM asks the server to end: leave the loop, join every thread, close every "
        "descriptor, free everything, exit with 0. A system call that waits is interrupted by the "
        "signal (EINTR)."
    ),
    "wrong-exit": (
        "SIGTERM and SIGINT are an orderly end: status 0. A handler that sets a flag, and a loop "
        "that looks at it; a call that was interrupted is no error then."
    ),
    "ended-by-a-signal": (
        "A signal interrupted a call that waited: it returned -1 with EINTR. That is the end of a "
        "wait and not an error; call again, or go round the loop again."
    ),
}
