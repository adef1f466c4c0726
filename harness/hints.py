"""What to think of first, for each way of failing. A Failure names a key; the docs say more."""

from __future__ import annotations

from dataclasses import dataclass

PAGE = "docs/reading-failures.md"


@dataclass(frozen=True)
class Hint:
    """`text` is one to three sentences to act on; `anchor` is a heading of PAGE."""

    text: str
    anchor: str

    @property
    def place(self) -> str:
        return f"{PAGE}#{self.anchor}"


_STARTING = "the-server-does-not-start"
_SILENCE = "no-reply"
_CLOSED = "the-connection-was-closed"
_WRONG = "wrong-bytes"
_ENDING = "how-the-server-ends"
_MEMORY = "memory-and-descriptors"
_WAITING = "one-client-waits-for-another"
_CPU = "cpu-with-nothing-to-do"
_COST = "cost-that-grows-too-fast"
_FAULTS = "calls-that-fail-or-move-little"

# The keys of failure.HINT_KEYS, those of the plugin and of memcheck, and those of the claims.
HINTS = {
    "connect-refused": Hint(
        "Nobody listens on the port any more. Either the server has ended, or it closed its "
        "listening socket: after a client is served, the next accept() needs that socket again.",
        _CLOSED,
    ),
    "connect-stuck": Hint(
        "The connection was neither accepted nor refused, as when the backlog is full: the server "
        "has stopped calling accept(). Look for what it waits in instead.",
        _SILENCE,
    ),
    "silence": Hint(
        "The server has all the bytes of the frame, and sends nothing. If it is busy, a loop in it "
        "never ends; if not, does it wait in a read() for more than header and body, or was a wait "
        "for readiness never armed again?",
        _SILENCE,
    ),
    "replies-missing": Hint(
        "The first frames were answered, the rest was not. Several frames can arrive in one "
        "read(): when one is done, look at what is left in the buffer before you read again.",
        _SILENCE,
    ),
    "stalled-reply": Hint(
        "write() may take only a part of what it is given, and the rest stays yours to send. Keep "
        "how far you came, and go on from there until all is written.",
        _SILENCE,
    ),
    "closed-early": Hint(
        "The server closed although a reply was due. Let its log say the reason: EAGAIN and EINTR "
        "are none, and neither is a read() that returned fewer bytes than asked for.",
        _CLOSED,
    ),
    "closed-in-reply": Hint(
        "The reply was cut short by a close. Has write() taken only a part of it? Send the rest "
        "before you close, and do not give up at EAGAIN or EINTR.",
        _CLOSED,
    ),
    "reset-early": Hint(
        "A reset comes from a server that died, or that closed with bytes from the client still "
        "unread. Look at what became of the server first.",
        _CLOSED,
    ),
    "wrong-header": Hint(
        "The length is four bytes, the lowest first, and counts the body alone. Compose it with "
        "shifts; a reply's header says how long the reply's own body is.",
        _WRONG,
    ),
    "wrong-body": Hint(
        "The length is right and the body is not. Look at the offset: at 0, the body was taken "
        "from the wrong place; later, it is where one read() or write() ended and the next began.",
        _WRONG,
    ),
    "extra-bytes": Hint(
        "More came than was asked for. Is something sent twice, after a partial write() perhaps? "
        "Or a whole buffer instead of the bytes that are in it?",
        _WRONG,
    ),
    "not-closed": Hint(
        "The server is to close this connection, and it is still open. read() returning 0 means "
        "that the client will send no more; a length over the maximum ends the connection too.",
        _CLOSED,
    ),
    "not-taken": Hint(
        "The server stopped reading what is sent to it. If it waits in a write() meanwhile, think "
        "of who has to read first; if it waits for readiness, it has to ask for input again.",
        _SILENCE,
    ),
    "cannot-start": Hint(
        "The program could not be executed. Is it there, may it be executed, and is it made for "
        "this machine?",
        _STARTING,
    ),
    "died-at-start": Hint(
        "The server ended before it listened. Start it by hand (`make run`) and read what it says.",
        _STARTING,
    ),
    "not-listening": Hint(
        "The server runs and does not listen. socket(), bind(), listen(), in this order; and the "
        "line `listening on ADDR:PORT` only after them.",
        _STARTING,
    ),
    "not-announced": Hint(
        "Once the server listens, it prints `listening on ADDR:PORT` and a newline on stdout, and "
        "flushes it: stdout is a pipe here, and keeps a line back until fflush().",
        _STARTING,
    ),
    "wrong-first-line": Hint(
        "The first line on stdout has to be `listening on ADDR:PORT`. Everything else that is to "
        "be told goes to stderr.",
        _STARTING,
    ),
    "sigpipe": Hint(
        "Writing to a connection that the other side has closed raises SIGPIPE, which ends the "
        "process. Send with MSG_NOSIGNAL, or ignore SIGPIPE: then the call fails with EPIPE, and "
        "only this connection has to be closed.",
        _ENDING,
    ),
    "crashed": Hint(
        "A signal ended the server, so the connection went with it. The signal and the last lines "
        "of its stderr tell why; `make memcheck` often finds the line.",
        _ENDING,
    ),
    "ended-early": Hint(
        "The server ended by itself, and the connection went with it. Nothing that a client does "
        "may end the server: look for exit(), a return from main(), a loop that is left.",
        _ENDING,
    ),
    "over-limit": Hint(
        "The grader ended the server, because it used far more than any server of this lab needs. "
        "Is memory given back? Does the log repeat itself?",
        _ENDING,
    ),
    "too-long": Hint(
        "Bytes kept moving, but the end was never reached. A loop that makes one small step where "
        "it could make a big one looks like this, and so does one that sends without end.",
        _SILENCE,
    ),
    "not-ended": Hint(
        "SIGTERM asks the server to end: leave the loop, close every descriptor, free everything, "
        "exit with 0. A system call that waits is interrupted by the signal (EINTR).",
        _ENDING,
    ),
    "memory-fault": Hint(
        "The server used memory that is not its own, or that was never given a value. The first "
        "frame is the line that did it; a block that was freed too early names two more.",
        _MEMORY,
    ),
    "memory-leak": Hint(
        "This block was allocated and not freed when the server ended. Find the way out, of a "
        "connection or of the server, on which its free() is missing.",
        _MEMORY,
    ),
    "open-descriptor": Hint(
        "This descriptor was still open when the server ended. The frame shows where it was "
        "opened; find the way out on which it is not closed.",
        _MEMORY,
    ),
    # Of the claims: how the server starts and ends
    "wrong-address": Hint(
        "The address and port come from the command line, and bind() gives them to the socket. A "
        "socket that is never bound gets a port that the kernel picks; one that is bound to 0.0.0.0 "
        "can be reached from everywhere.",
        _STARTING,
    ),
    "port-still-in-use": Hint(
        "Connections of a server that has ended stay in TIME_WAIT for a minute and hold its port. "
        "SO_REUSEADDR, set before bind(), lets the next server have it.",
        _STARTING,
    ),
    "backlog-too-short": Hint(
        "Clients that nobody has accepted yet wait in the backlog, and its length is the second "
        "argument of listen(). When it is full, new ones are not connected: SOMAXCONN is as long "
        "as the kernel allows.",
        _STARTING,
    ),
    "bad-start": Hint(
        "Wrong usage: a usage line on stderr and status 2. Cannot listen: the reason on stderr and "
        "status 1. Does the return value of every call that can fail reach the caller?",
        _STARTING,
    ),
    "not-verbose": Hint(
        "With -v the server says something of each frame on stderr. Does it know the option, and is "
        "what it says written at once? stderr has no buffer, unless you give it one.",
        _STARTING,
    ),
    "stdout-is-taken": Hint(
        "stdout has the line `listening on ADDR:PORT` and nothing more. The log goes to stderr: "
        "fprintf(stderr, ...), not printf().",
        _STARTING,
    ),
    "wrong-exit": Hint(
        "SIGTERM and SIGINT are an orderly end: status 0. A handler that sets a flag, and a loop "
        "that looks at it; a call that was interrupted is no error then.",
        _ENDING,
    ),
    # One read is not one message
    "waits-for-more": Hint(
        "The server has every byte of the frame and sends nothing. If it asked for a whole header, "
        "or a whole body, each time it read, the bytes that came before are lost to it: a read() "
        "has to ask for what is still missing.",
        _SILENCE,
    ),
    "one-read-one-message": Hint(
        "One read() was taken for one message. A read() returns what has arrived so far, which can "
        "be one byte of the header: call it again, for what is missing, until all of it is there.",
        _WRONG,
    ),
    "length-byte-lost": Hint(
        "All four bytes of the header count, the lowest first: b0 + b1*2^8 + b2*2^16 + b3*2^24. "
        "Widen each byte to 32 bits, unsigned, before you shift it. The length counts the body "
        "alone, and not the header.",
        _WRONG,
    ),
    "large-frame-refused": Hint(
        "Does the log say why? Out of memory: the buffer does not grow to what the frame needs; too "
        "long: N counts the body alone, N = 33,554,432 is allowed, and its buffer has 4 bytes more. "
        "Neither: a read() that returned less than asked for is not the end.",
        _CLOSED,
    ),
    "body-is-not-text": Hint(
        "A body is bytes and no text: 0 does not end it, and 10 and 13 are not the ends of lines. "
        "Use its length, and no function for strings.",
        _WRONG,
    ),
    "length-not-refused": Hint(
        "A length over the maximum has to close the connection at once. Is it compared before "
        "anything is read or allocated, and as an unsigned number? 0x80000000 is no negative one.",
        _CLOSED,
    ),
    "partial-frame-answered": Hint(
        "The input ended inside a frame, and the server answered all the same. A read() of 0 in "
        "the middle of a header or a body: drop what there is and close.",
        _WRONG,
    ),
    "rest-from-elsewhere": Hint(
        "After a short write the rest was sent from the wrong place. Keep how many bytes are sent, "
        "add what each write() took, and go on from there; the next reply begins at 0 again.",
        _SILENCE,
    ),
    "short-write": Hint(
        "The rest of a short write was dropped. write() returns how many bytes it took, which can "
        "be fewer than it was given: send the rest too, from where it stopped.",
        _SILENCE,
    ),
    "one-frame-only": Hint(
        "The first frame was answered, and the next one was not. A connection carries any number "
        "of frames: go back to reading when a reply is sent.",
        _SILENCE,
    ),
    "empty-body": Hint(
        "An empty frame is a frame: its reply is a header alone. A read() of 0 bytes returns 0, and "
        "that is not the end of the input; there is nothing to wait for after such a header.",
        _SILENCE,
    ),
    "replies-lost-at-eof": Hint(
        "Replies that were owed are lost. The end of the input, or a frame too long, says that "
        "nothing more will be asked; what was asked before is still to be sent, and closing comes "
        "after that.",
        _CLOSED,
    ),
    "server-stopped-accepting": Hint(
        "A client left, and the next one is not served. Whatever a client does ends its own "
        "connection: go back to accept(), also after an error.",
        _WAITING,
    ),
    # One client must not stop the others
    "blocked-by-another": Hint(
        "Another client has nothing to say, or takes nothing, and this one waits for it. Every call "
        "for a client has to return at once: O_NONBLOCK, and on EAGAIN on to the next client.",
        _WAITING,
    ),
    "table-too-small": Hint(
        "Some clients are served and others never. Is there a table of clients with a fixed size, "
        "or does the loop stop before its end?",
        _WAITING,
    ),
    "starved": Hint(
        "A client that always has something to say got all the attention. One turn of the loop "
        "gives every client that is ready a bounded share.",
        _WAITING,
    ),
    "state-left-behind": Hint(
        "Descriptor numbers are used again at once. What belongs to a connection (buffer, state, "
        "offset) has to be made anew for each, and freed with it.",
        _WRONG,
    ),
    "state-shared": Hint(
        "Two clients got into each other's way. Buffer, state and offset belong to one connection: "
        "look for what is static or global, and for what all of them point to.",
        _WRONG,
    ),
    "closed-in-the-turn": Hint(
        "A client came as another left, and lost its connection. A descriptor that is closed within "
        "a turn is given to a new client at once, and what was left to be done for the old one (an "
        "event, a second close) hits the new one: close after dispatch, once.",
        _CLOSED,
    ),
    "descriptor-leak": Hint(
        "Connections are over and their descriptors still open. Each one accepted has to be "
        "closed exactly once, on every way out: end of input, error, a frame too long.",
        _MEMORY,
    ),
    # Calls that fail or move little, when the grader has them do so
    "call-disturbed": Hint(
        "EAGAIN and EINTR say that this call has moved nothing, and no more than that. Keep what "
        "has come and how far it was sent, and go on from there at the next chance.",
        _FAULTS,
    ),
    "long-stream-lost": Hint(
        "Long frames in many pieces go wrong. Where the next byte goes is lost, when a buffer grows "
        "or a part of it has been sent, or when a number is too small to count the bytes.",
        _FAULTS,
    ),
    "reset-ends-one": Hint(
        "ECONNRESET ends one connection: close it, free what it owns, and serve the others as if "
        "nothing had happened.",
        _FAULTS,
    ),
    "accept-failed": Hint(
        "accept() can fail for one client (ECONNABORTED, EINTR, EAGAIN) or for a while (EMFILE). "
        "Neither ends the server, and the next client in the queue is to be served.",
        _FAULTS,
    ),
    "close-interrupted": Hint(
        "On Linux close() has closed the descriptor even when it returns EINTR. Do not call it "
        "again: the number may belong to another connection by then.",
        _FAULTS,
    ),
    "closed-twice": Hint(
        "A connection was closed twice. Between the two another client may have been given the same "
        "number, and loses its connection for no reason: one owner closes, once.",
        _FAULTS,
    ),
    "out-of-memory": Hint(
        "malloc() may return NULL. That ends the connection which needed the memory, and nothing "
        "else; what realloc() could not enlarge is still there, and still has to be freed.",
        _FAULTS,
    ),
    "ready-for-nothing": Hint(
        "The wait said ready, and nothing was there: the call for that client waited, and everybody "
        "with it. With O_NONBLOCK on every connection it returns EAGAIN instead.",
        _FAULTS,
    ),
    # CPU with nothing to do
    "busy-sweep": Hint(
        "The sweep goes round without a pause. When a whole turn has moved nothing, sleep for a "
        "millisecond; a step that has met EAGAIN has moved nothing, and has to say so.",
        _CPU,
    ),
    "spins-idle": Hint(
        "The server keeps looking although nothing happens. Let poll() wait without a time limit, "
        "and ask for POLLOUT only while there is something to write: a socket is nearly always "
        "writable.",
        _CPU,
    ),
    "spins-writing": Hint(
        "The kernel takes no more of the reply, and the server keeps trying, or is woken for input "
        "that it does not read. While it waits to write, POLLOUT is its only interest.",
        _CPU,
    ),
    "spins-half-closed": Hint(
        "A socket whose peer has half-closed is readable for ever: read() returns 0. Once you know, "
        "or while you read nothing, do not ask for POLLIN.",
        _CPU,
    ),
    "spins-full": Hint(
        "accept() fails for want of a descriptor, and the listening socket stays readable. Do not "
        "watch it until a descriptor is free, or for a while.",
        _CPU,
    ),
    "late-reply": Hint(
        "The reply waits for something: a sleep between two looks, or a poll() with a time limit "
        "that does not watch the socket. Readiness should wake the server, not a clock.",
        _CPU,
    ),
    "waits-too-often": Hint(
        "One wait that returns, then everything that is ready, then the next wait: that is the loop. "
        "A wait that returns with nothing to do asks for an event that is there all the time, or "
        "has a time limit of zero.",
        _CPU,
    ),
    "ended-by-a-signal": Hint(
        "A signal interrupted a call that waited: it returned -1 with EINTR. That is the end of a "
        "wait and not an error; call again, or go round the loop again.",
        _ENDING,
    ),
    # Many frames in flight
    "consume-moves": Hint(
        "The more bytes are in the buffer, the more each frame costs, or each write: dropping "
        "bytes at the front moves all the others. Move an index instead.",
        _COST,
    ),
    "write-per-frame": Hint(
        "Every reply had a write call of its own. Answer all the frames that one read brought, "
        "into one buffer, and send that.",
        _COST,
    ),
    "quadratic": Hint(
        "Twice the work costs much more than twice the time. Look for what is done for every frame "
        "and grows with the bytes or frames that are held: a memmove, a search, a realloc.",
        _COST,
    ),
    "memory-grows": Hint(
        "Memory has to follow the bytes that arrive and are still needed: no allocation from an "
        "announced length, no reading while replies are not taken, nothing kept for an idle client.",
        _MEMORY,
    ),
    "stuck-after-pause": Hint(
        "Reading was suspended, and after the replies had gone it never went on. Frames that are "
        "in the buffer already cause no event: parse them when there is room again.",
        _SILENCE,
    ),
}
