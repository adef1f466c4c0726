"""The hints of docs/reading-failures.md#no-reply, by their keys."""

TEXTS = {
    "connect-stuck": (
        "The connection was neither accepted nor refused, as when the backlog is full: the server "
        "has stopped calling accept(). Look for what it waits in instead."
    ),
    "silence": (
        "The server has all the bytes of the frame, and sends nothing. If it is busy, a loop in "
        "it never ends, or a wait reports what nothing deals with. If it sleeps: does a read() "
        "want more than header and body, was the reply never written, or does no wait ask for the "
        "readiness that is needed?"
    ),
    "replies-missing": (
        "The first frames were answered, the rest was not. Several frames can arrive in one "
        "read(): when one is done, look at what is left in the buffer before you read again."
    ),
    "stalled-reply": (
        "write() may take only a part of what it is given, and the rest stays yours to send. Keep "
        "how far you came, and go on from there until all is written."
    ),
    "not-taken": (
        "The server stopped reading what is sent to it. If it waits in a write() meanwhile, think "
        "of who has to read first; if it waits for readiness, it has to ask for input again."
    ),
    "too-long": (
        "Bytes kept moving, but the end was never reached. A loop that makes one small step where "
        "it could make a big one looks like this, and so does one that sends without end."
    ),
    "waits-for-more": (
        "The server has every byte of the frame and sends nothing. If it asked for a whole "
        "header, or a whole body, each time it read, the bytes that came before are lost to it: a "
        "read() has to ask for what is still missing."
    ),
    "rest-from-elsewhere": (
        "After a short write the rest was sent from the wrong place. Keep how many bytes are "
        "sent, add what each write() took, and go on from there; the next reply begins at 0 "
        "again."
    ),
    "offset-of-the-rest": (
        "These bytes are of the same frame, from another place in it: after a short write the rest "
        "began at a wrong offset. The offset belongs to the connection, grows by what each write() "
        "took, and stays as it is at EAGAIN."
    ),
    "short-write": (
        "The rest of a short write was dropped. write() returns how many bytes it took, which can "
        "be fewer than it was given: send the rest too, from where it stopped."
    ),
    "one-frame-only": (
        "The first frame was answered, and the next one was not. A connection carries any number "
        "of frames: go back to reading when a reply is sent."
    ),
    "empty-body": (
        "An empty frame is a frame: its reply is a header alone. A read() of 0 bytes returns 0, "
        "and that is not the end of the input; there is nothing to wait for after such a header."
    ),
    "stuck-after-pause": (
        "Reading was suspended, and after the replies had gone it never went on. Frames that are "
        "in the buffer already cause no event: parse them when there is room again."
    ),
}
