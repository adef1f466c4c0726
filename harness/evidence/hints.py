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
_FRAMES = "lines-and-frames-of-a-fixed-size"
_MESSAGES = "typed-messages"
_EVENTS = "the-event-manager"
_MODULE = "a-module-by-itself"
_TIMERS = "timers-and-time-outs"
_THREADS = "loops-in-threads"
_FLOW = "flow-control"
_COROUTINES = "coroutines"

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
    # Lines, and frames of a fixed size
    "fixed-size": Hint(
        "A frame has N bytes, no more and no less. It is complete as soon as N are there, and what "
        "is behind them belongs to the next one.",
        _FRAMES,
    ),
    "line-in-pieces": Hint(
        "A line may come in any pieces, and is complete when its LF is there, not before. *seen "
        "says how far it was searched, counted from where it begins: all that is there, as long as "
        "there is no LF; and 0 again when the line is complete.",
        _FRAMES,
    ),
    "line-terminator": Hint(
        "A line ends at LF, and goes back with the LF, or CR LF, that it came with. Every other "
        "byte belongs to the body: 0, and a CR that does not stand right before the LF.",
        _FRAMES,
    ),
    "line-limit": Hint(
        "A body has 65,536 bytes at most, and its terminator does not count. While there is no LF, "
        "a CR at the end may still become a part of it; but a body that is too long already has to "
        "end the connection, LF or not.",
        _FRAMES,
    ),
    "line-search": Hint(
        "The more bytes are in the buffer, the more each line costs. The search for an LF stops at "
        "the first one, and never looks at what belongs to the lines behind it.",
        _COST,
    ),
    "line-seen-twice": Hint(
        "A line that comes byte by byte is searched from its beginning each time, and so its cost "
        "grows with the square of its length. Search from bytes + *seen, leave in *seen how far "
        "you have come in vain, and 0 behind a complete line.",
        _COST,
    ),
    # Typed messages
    "wrong-seq": Hint(
        "A reply begins with the cmd and the seq of its request. Of a request that is too short "
        "for one of them, that one is -1.",
        _MESSAGES,
    ),
    "wrong-status": Hint(
        "The status says what became of the request. 1: there is no such command, whatever its "
        "fields; 2: its bytes are not the fields of the command; 3: they are, and make no sense; "
        "4: the result does not fit. Which question is asked first, and which is not asked?",
        _MESSAGES,
    ),
    "wrong-fields": Hint(
        "cmd, seq and status are right, and what is behind them is not. Are these the fields of "
        "the command, in their order? A number has its lowest byte first, a string its length in "
        "front.",
        _MESSAGES,
    ),
    "reply-head": Hint(
        "A reply is a frame: its length, the lowest byte first, and behind it the bytes it counts, "
        "without the length itself: i32 cmd, i32 seq, i32 status, then the fields.",
        _MESSAGES,
    ),
    "malformed-stays": Hint(
        "A malformed message came in a sound frame, and behind it is the next one: answer with "
        "status 2 and go on. Only a frame that is too long ends the connection.",
        _MESSAGES,
    ),
    "number-bytes": Hint(
        "Every byte of a number counts, the lowest first, whatever its highest bit. Widen each to "
        "64 bits, unsigned, before you shift it: a uint8_t by itself becomes an int of 32 bits.",
        _MESSAGES,
    ),
    "leb128-groups": Hint(
        "LEB128 has 7 bits of the number in each byte, the lowest first; bit 7 says that one more "
        "byte follows. There are five at most, and the fifth may hold no more than 0x0f.",
        _MESSAGES,
    ),
    "beyond-the-message": Hint(
        "What a message says of itself may be a lie. Compare a length with the bytes that are "
        "left, in a way that cannot wrap: size > left, and not next + size > end, nor count * 8 in "
        "32 bits. And behind the last field nothing may be left.",
        _MESSAGES,
    ),
    "reply-too-long": Hint(
        "The reply of an ECHO has more in front of its string than the request, and no frame may "
        "have more than 32 MiB. Ask before you begin to write it: status 3.",
        _MESSAGES,
    ),
    "wrong-counts": Hint(
        "STATS has connections that are open now; frames received, this one and malformed ones "
        "too; replies made, without this one. All connections count together.",
        _MESSAGES,
    ),
    "sum-of-i64": Hint(
        "Add in 64 bits, and find out before the sum is used whether it fits: it can be too large "
        "or too small. __builtin_add_overflow() tells both.",
        _MESSAGES,
    ),
    # The event manager
    "watch-lost": Hint(
        "A descriptor was ready, and not its callback was called. When the table grows, what is in "
        "it stays and what is new is all zero; it moves then, so a pointer into it is of no use "
        "behind a callback.",
        _EVENTS,
    ),
    "added-twice": Hint(
        "There is one watch for each event of a descriptor. To add a second one fails with EEXIST, "
        "and when the backend refuses, events_add() fails as it did: ask first, then tell the "
        "backend, and write the watch down last.",
        _EVENTS,
    ),
    "called-after-del": Hint(
        "A watch that was taken away has to be gone, from the table and from the backend. What was "
        "reported for this turn may be older: look into the table right before each call.",
        _EVENTS,
    ),
    "cancelled-once": Hint(
        "To cancel is to keep a copy of the watch, to take it away, and then to call it, once, with "
        "its event and EVENT_CANCELLED: the callback may add a new one, or free its context.",
        _EVENTS,
    ),
    "cancelled-both": Hint(
        "Both events of a descriptor are to be cancelled, each if it is still watched when its turn "
        "comes: the first callback may have taken the second watch away.",
        _EVENTS,
    ),
    "wake-up": Hint(
        "A wake-up makes wake_fd readable, whoever calls and whether the loop sleeps already or "
        "not. It never waits, any number of them are one, and on_wake() makes it unreadable again.",
        _EVENTS,
    ),
    "again-next-turn": Hint(
        "A watch that is to be called again comes in the next turn: once, without a sleep before "
        "it, after everybody else had the chance, and only if it is still watched then.",
        _EVENTS,
    ),
    "errors-wake-both": Hint(
        "EPOLLERR and EPOLLHUP come unasked, and instead of what was asked for. They are readiness "
        "in both directions: the call that is made then finds out what has happened.",
        _EVENTS,
    ),
    "hangup-untold": Hint(
        "That the peer sends no more is told once, perhaps together with its last bytes: EPOLLRDHUP, "
        "if you ask for it. It is EVENT_READ and EVENT_HANGUP, and then the input has to be read to "
        "its very end.",
        _EVENTS,
    ),
    "told-once": Hint(
        "Edge-triggered readiness is told once. Go on until EAGAIN or a short read(), or ask for "
        "another call; and tell the kernel of every change of interest, with all the events that "
        "are watched: then it looks anew.",
        _EVENTS,
    ),
    "pays-for-the-idle": Hint(
        "Requests cost more when idle clients are connected. The kernel keeps the list, and "
        "epoll_wait() returns only who has news: nothing may be done for every connection there is.",
        _COST,
    ),
    "reads-in-vain": Hint(
        "A read() that returned less than it was asked for has taken all there was. Another one "
        "only finds EAGAIN, and costs as much as the first.",
        _COST,
    ),
    # Timers, and what is answered later
    "timer-order": Hint(
        "First comes the earlier deadline; of two that are equal, the timer that was set first. "
        "No parent in the heap is later than its children at 2i + 1 and 2i + 2: compare both, "
        "and move the earlier one up.",
        _TIMERS,
    ),
    "timer-removal": Hint(
        "The last timer fills the gap, and may be too late there or too early: move it down, or "
        "up. Whenever a timer is put anywhere, its index says where.",
        _TIMERS,
    ),
    "timer-cancelled": Hint(
        "A timer that was cancelled is not called, not even when it is due already and the calls "
        "of this turn have begun; and what has been called, and does not recur, is not set any "
        "more.",
        _TIMERS,
    ),
    "timer-early": Hint(
        "A timer may be late, but it is never called before its deadline. Compare times in one "
        "unit; a part of a millisecond that is left has to be waited for, too.",
        _TIMERS,
    ),
    "timer-cost": Hint(
        "To set, cancel or call a timer takes about log2(n) steps. Look for what goes through "
        "all of them: each knows its index, so nobody has to search, and one path of the heap is "
        "enough.",
        _TIMERS,
    ),
    "timer-rounds": Hint(
        "A round begins where the last one ended, at its deadline: counted from the call, every "
        "round would be a little late. Only if the next one is over already does it begin now.",
        _TIMERS,
    ),
    "timer-due-first": Hint(
        "Take all that are due out of the heap, then call them one by one. A call may set, "
        "cancel or free any timer: so say where a timer is before you call it, do not touch it "
        "afterwards, and let timer_cancel() take one that is due out of the row.",
        _TIMERS,
    ),
    "timer-start": Hint(
        "A timer was last started at its deadline less its delay. A reset sets both anew, the "
        "delay for the rounds to come as well, and the heap has to hear of it.",
        _TIMERS,
    ),
    "timer-timeout": Hint(
        "A wait ends when something is ready or the first timer is due, and then timers_run() "
        "looks. Its time limit is in milliseconds, rounded up: -1 is for no timer, and 0 only "
        "for one that is due.",
        _TIMERS,
    ),
    "timer-clock": Hint(
        "The time of day can be set, back and forward. CLOCK_MONOTONIC only goes on.",
        _TIMERS,
    ),
    "alarm-lost": Hint(
        "A reply for later did not come, though its time is over. Are the timers run after every "
        "wait? And is what a timer has written sent at once, not with the next request?",
        _TIMERS,
    ),
    "alarm-seq": Hint(
        "A seq names an AFTER or EVERY of its own connection, as long as replies of it are to "
        "come: so long a second one is a bad argument, then it is free again. CANCEL and RESET "
        "of a seq that is not in use get status 6.",
        _TIMERS,
    ),
    "alarm-cancel": Hint(
        "CANCEL has two replies: the last one of what it cancels, with the cmd and seq of that "
        "and status 5, and its own, with status 0. After them nothing comes of it.",
        _TIMERS,
    ),
    "every-replies": Hint(
        "EVERY has `count` replies, and in front of the string of each is its index, from 0 on. "
        "The first one comes after ms, like all the others.",
        _TIMERS,
    ),
    "every-in-a-burst": Hint(
        "While there is no room for its reply an EVERY waits, with one that it owes. When that is "
        "sent the next one is due `ms` later: rounds that were missed are not made up for.",
        _TIMERS,
    ),
    "idle-timeout": Hint(
        "Every byte that comes or goes gives the peer another idle-timeout, whether a frame is "
        "complete or not. Who has been silent for so long is closed, unless it only waits for "
        "its own alarms.",
        _TIMERS,
    ),
    "frame-timeout": Hint(
        "The time of a frame begins with its first byte, and ends with its last. No byte between "
        "them starts it anew, every frame has its own, and it stands still while the server "
        "itself does not read. Replies that are owed are sent before the close.",
        _TIMERS,
    ),
    # Flow control
    "turn-over": Hint(
        "A turn was over before the work was done, and the rest was never taken up. Frames that "
        "are here already, and a socket that would take more, are no news: ask for another call in "
        "the next turn, whenever the budget is what has stopped you.",
        _FLOW,
    ),
    "turn-too-long": Hint(
        "A few clients that never stop have kept the loop for long. What one may do in a turn needs "
        "a bound that its messages use up as well as its bytes; then the others have their turn.",
        _FLOW,
    ),
    "water-marks": Hint(
        "Output that has reached high-water suspends reading, until it is down to low-water: "
        "reached is >=, and down to is <=, and between the two nothing changes. Look at it whenever "
        "output was added or sent.",
        _FLOW,
    ),
    "quota-kept": Hint(
        "A connection has N frames in an interval, which begins with the first of them. Count each "
        "frame that is answered, for its own connection; what is over N is neither answered before "
        "the next interval, nor dropped, nor a reason to close.",
        _FLOW,
    ),
    "quota-renewed": Hint(
        "The interval was over, and what had to wait was not answered in time. When its timer rings "
        "the quota is whole again, and frames that were read before have to be looked at then: no "
        "event will tell of them.",
        _FLOW,
    ),
    "quota-unread": Hint(
        "While the quota is used up do not ask for input, or the loop is woken for what it may not "
        "take. What the client sends waits in the kernel, and in the end at the client. And where "
        "no frame was taken, no interval runs.",
        _FLOW,
    ),
    "quota-held": Hint(
        "A client that has to wait for its next interval made the others wait, too. Waiting is "
        "setting a timer, and going back to the loop.",
        _FLOW,
    ),
    "quota-timeouts": Hint(
        "The client waited for us, held by its quota, and was closed as if we had waited for it. "
        "No time-out runs for what the server itself does not read.",
        _FLOW,
    ),
    "max-conns": Hint(
        "With --max-conns open, do not accept: the others wait in the backlog. Do not watch the "
        "listening socket meanwhile either, it is readable all the time; when a connection has "
        "ended, accept one, and watch it again if there is room.",
        _FLOW,
    ),
    "turned-away": Hint(
        "Who waits for a descriptor is tried again and again for 3 s, and then told that there is "
        "none: give up the reserve, accept and close until nobody waits, take a reserve again.",
        _FLOW,
    ),
    "reserve": Hint(
        "It went well once. Afterwards a descriptor is held in reserve again, no other one has been "
        "lost, and the listening socket is watched as soon as there is one for a client.",
        _FLOW,
    ),
    "lost-at-close": Hint(
        "close() with input still unread is a reset, and that destroys replies on their way. First "
        "send all that is owed; then shutdown(SHUT_WR), and read what comes, only to throw it away, "
        "until the peer ends too.",
        _FLOW,
    ),
    "linger": Hint(
        "At its end a connection waits for its peer, LINGER_MS from the last progress: from the "
        "last byte of its replies that was taken. What it sends then is no progress; and when the "
        "time is over it is closed, whatever is owed.",
        _FLOW,
    ),
    # Loops in threads
    "task-wake": Hint(
        "There was a task in the line, and the loop slept. Who queues a task wakes the loop for "
        "it: when the task is in the line, not before, and whichever thread it is, the loop's own "
        "too.",
        _THREADS,
    ),
    "one-wake": Hint(
        "Every task had a wake-up of its own, which is a system call. As long as there are tasks in "
        "the line the loop has been woken for them: only who puts the first one there wakes it.",
        _THREADS,
    ),
    "tasks-run": Hint(
        "A turn runs all the tasks that are in the line when it comes to them: take the whole line "
        "out while the lock is held, and run it from its front, each task once. What two threads "
        "queue at a time must not be lost either.",
        _THREADS,
    ),
    "task-lock": Hint(
        "Tasks are run when the lock is released, from a line of your own. A task may queue "
        "another, which waits for the next turn; others may queue meanwhile; and it may free "
        "itself: take it out of the line before you run it.",
        _THREADS,
    ),
    "task-thread": Hint(
        "run_in_loop() asks whose thread this is. If it is that of this very loop, it runs the task "
        "before it returns; from any other thread, of another loop too, the task is queued.",
        _THREADS,
    ),
    "data-race": Hint(
        "Two threads touched the same memory, and nothing said who comes first. What a loop serves "
        "only its own thread may touch; what is shared needs its lock around every use, reading "
        "too; and what was queued is not yours any more.",
        _THREADS,
    ),
    "thread-left": Hint(
        "The server ended while threads of it still ran. Every thread that was started is told to "
        "stop, which its loop has to be woken for, and then waited for with pthread_join().",
        _THREADS,
    ),
    "loop-share": Hint(
        "Connections go to the loops in turn, each loop gets as many as the next, and a connection "
        "is served by the thread of its loop alone: that watches it, reads it and answers it.",
        _THREADS,
    ),
    "stats-of-all": Hint(
        "STATS is about the whole server, whichever loop is asked: add up what all loops have "
        "counted. A connection that is over counts no more.",
        _THREADS,
    ),
    "broadcast-reach": Hint(
        "A BROADCAST visits every loop once, and there every connection, that of the sender too. "
        "The reply says how many they were, and comes when all loops were visited.",
        _THREADS,
    ),
    "broadcast-order": Hint(
        "What one client broadcasts everybody gets in the order in which it was sent, and its own "
        "replies come in the order of its requests: the next request waits until the broadcast is "
        "answered.",
        _THREADS,
    ),
    "sender-is-gone": Hint(
        "The sender may be gone before its message has been everywhere. The message goes on its "
        "way all the same; only the reply has nobody to go to, and what was freed is not touched.",
        _THREADS,
    ),
    "push-bound": Hint(
        "Who does not take what is broadcast is closed, before that has cost more memory than a "
        "frame of the maximum and what waits at high water. Nobody else waits for it, and it is "
        "not counted any more.",
        _THREADS,
    ),
    # Coroutines
    "co-switch": Hint(
        "A coroutine begins with its function, on its own stack, and goes on where it has stopped, "
        "with all its variables. Who runs is said before the switch; swapcontext() saves the first "
        "context and goes on with the second. When it comes back nobody runs.",
        _COROUTINES,
    ),
    "stack-guard": Hint(
        "The lowest page of a stack may not be touched: mprotect() it, PROT_NONE, at the end that "
        "the stack grows to. Then who has used all of it is ended by SIGSEGV, and the handler finds "
        "the address in the guard page. What is above it can be used to the last page.",
        _COROUTINES,
    ),
    "stack-kept": Hint(
        "Coroutines have ended, and their stacks are still mapped. munmap() takes the whole of what "
        "mmap() gave, the guard page too.",
        _COROUTINES,
    ),
    "co-turn": Hint(
        "A call of co_run() runs all who are ready when it begins, in that order, each once. Take "
        "the whole line out first: who gets ready meanwhile stands in the next one.",
        _COROUTINES,
    ),
    "co-wake": Hint(
        "Only who is parked can be woken. One that is ready stands in the line already, and one "
        "that runs is not waiting; to put either there once more ruins the line.",
        _COROUTINES,
    ),
    "co-park": Hint(
        "co_park() sets a timer if there is a time, says that it is parked, lets the others go on, "
        "and takes the timer away when it is back: one that is left would end another wait. The "
        "result says what has ended this wait, and not an earlier one.",
        _COROUTINES,
    ),
    "co-sleep": Hint(
        "Whoever wakes a coroutine that sleeps has meant something else. It parks again, for what "
        "is left of its time; only the end of that, or being cancelled, ends the sleep.",
        _COROUTINES,
    ),
    "co-cancel": Hint(
        "Who is cancelled is to come to its end, however often it still tries to wait: so that is "
        "remembered. The wait that is under way ends at once, which takes a wake-up.",
        _COROUTINES,
    ),
    "co-news": Hint(
        "With no news, see that the socket is watched, be the one who waits for it, and park. "
        "Afterwards nobody waits for it, whatever has ended the wait; news are IO_OK, a time that "
        "is over is IO_LATE, a wake-up by others IO_AGAIN, and the end IO_CANCELLED.",
        _COROUTINES,
    ),
    "co-read": Hint(
        "First wait, then make room, then read, once in a turn. As many bytes as were asked for: "
        "there may be more. Fewer: there is no more, unless the end of the input was told, which "
        "comes only once.",
        _COROUTINES,
    ),
    "co-write": Hint(
        "Wait for news, send what the kernel takes, and take that out of the buffer. News are over "
        "when the kernel has taken nothing (IO_AGAIN); then there will be new ones as soon as the "
        "peer has read.",
        _COROUTINES,
    ),
    "co-accept": Hint(
        "Wait for news, then accept. Others may have come at the same time, so the news are over "
        "only when nobody was there; with no descriptor left somebody still is.",
        _COROUTINES,
    ),
    "co-send": Hint(
        "What could not be sent at once is sent by a coroutine of its own, as the peer reads. "
        "Whenever some of it is gone: the marks are looked at, alarms that are owed are answered, "
        "and the coroutine that serves is woken, since it may wait for just that.",
        _COROUTINES,
    ),
    "co-serve": Hint(
        "Before it waits a coroutine asks what for: where frames are left over, only for the others' "
        "turn; else for input, if it may be read. Otherwise it waits, without reading, for what stands "
        "against that, a mark, an interval, a reply, and who changes it wakes the coroutine.",
        _COROUTINES,
    ),
    "co-memory": Hint(
        "A coroutine that waits should own little: some pages of its stack. Nothing large belongs "
        "on a stack that waits, no buffer is kept for what has not come, and the memory of a stack "
        "is not touched before it is used.",
        _COROUTINES,
    ),
    "co-stop": Hint(
        "At the end every coroutine is cancelled, and run until it has ended: by the thread whose "
        "loop it belongs to. A wait that is cancelled is over, however often it is tried.",
        _COROUTINES,
    ),
    # A module by itself, in a program of the grader
    "module-not-built": Hint(
        "A program of the grader is linked with this module and calls what its header declares. All "
        "functions of the header have to be there, under these names, also those that your server "
        "does not call.",
        _MODULE,
    ),
    "in-the-module": Hint(
        "The module was called in the marked step, and did not come back. The last command below "
        "stops before it: `continue`, and after a crash, or Ctrl-C where it hangs, `bt` shows the "
        "line.",
        _MODULE,
    ),
    "undefined-behaviour": Hint(
        "C says nothing about what this line does, so the compiler may do anything. A byte is an int "
        "when it is shifted, with a sign and 32 bits: widen it first, to what the result needs, "
        "unsigned.",
        _MODULE,
    ),
    "length-in-front": Hint(
        "The length says how many bytes are behind it, and goes where the frame begins. Keep that "
        "place as a number, counted from the head: the buffer moves when it grows, and a pointer "
        "into it is of no use then.",
        _MODULE,
    ),
    "no-room": Hint(
        "There was no memory for a field. The writer remembers that, whatever comes later, and "
        "writer_end() says so and leaves the buffer as it was before the frame.",
        _MODULE,
    ),
    "there-and-back": Hint(
        "What the writer has written the reader does not find. Write down the bytes of the field in "
        "the marked step as the protocol has them, and see which of the two is wrong.",
        _MODULE,
    ),
    "fuzzed-message": Hint(
        "This message holds something that nobody writes on purpose. Go through its bytes by hand, "
        "field by field: how many does each need, and how many are left?",
        _MODULE,
    ),
}
