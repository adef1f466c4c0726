"""The hints of docs/reading-failures.md#no-reply, by their keys."""

TEXTS = {
    "connect-stuck": (
        "The connection was neither accepted nor refused. That happens when the backlog is full, "
        "because the server has stopped calling accept(). Look for the call in which it waits "
        "instead."
    ),
    "silence": (
        "The whole frame has come to the server's kernel, and no reply comes. If the server is "
        "busy, it is in an endless loop, or a wait reports an event that nothing handles. If it "
        "sleeps: is something unread, does a read() want more than header and body, was the reply "
        "never written, or does no wait request the readiness that is needed?"
    ),
    "replies-missing": (
        "The first frames were answered, the others were not. Several frames can arrive in one "
        "read(). After each one, look for the next frame in the buffer before you read again."
    ),
    "stalled-reply": (
        "write() may take only a part of what it is given, and you have to send the remainder. "
        "Remember how much was sent, and continue from there until everything is written."
    ),
    "not-taken": (
        "The server stopped reading what is sent to it. If it waits in a write(), both sides now "
        "wait for the other to read. If it waits for readiness, it has to request input again."
    ),
    "too-long": (
        "Bytes kept moving, but the exchange did not finish. Either a loop makes many small steps "
        "where it could make a few large ones, or it sends without end."
    ),
    "reply-held-back": (
        "With TCP_CORK or MSG_MORE a short segment waits in the kernel for more output, for 200 "
        "ms. Without TCP_NODELAY a second short write waits until the first is acknowledged, up "
        "to 40 ms. Write header and body in one call, and set TCP_NODELAY."
    ),
    "waits-for-more": (
        "The server has every byte of the frame and sends nothing. If each read() requests a "
        "whole header or a whole body again, the bytes that came before are lost. Request only "
        "the bytes that are still missing."
    ),
    "remainder-from-elsewhere": (
        "After a short write the remainder was sent from the wrong place. Remember how many bytes "
        "are sent, add the result of each write(), and continue from there. The next reply begins "
        "at 0 again."
    ),
    "offset-of-the-remainder": (
        "These bytes belong to the same frame, but to another place in it: after a short write "
        "the remainder began at a wrong offset. The offset belongs to the connection and grows by "
        "the result of each write(). EAGAIN leaves it as it is."
    ),
    "short-write": (
        "The remainder of a short write was dropped. write() returns how many bytes it took, "
        "which can be fewer than it was given. Send the remainder too, from where it stopped."
    ),
    "one-frame-only": (
        "The first frame was answered, and the next one was not. A connection carries any number "
        "of frames: read again after a reply is sent."
    ),
    "empty-body": (
        "An empty frame is a frame: its reply is a header alone. A read() that requests 0 bytes "
        "returns 0, which is not EOF. So do not read after such a header."
    ),
    "input-unread": (
        "The server sleeps, and the line `server` says what it has not read. Nothing will read "
        "it: does the wait include this client, for input? An edge is reported once: then read "
        "until nothing is left."
    ),
    "stuck-after-pause": (
        "Reading was suspended, and was not resumed after the replies had been sent. Frames that "
        "are in the buffer already cause no event: parse them as soon as there is free space "
        "again."
    ),
}
