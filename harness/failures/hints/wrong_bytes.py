"""The hints of docs/reading-failures.md#wrong-bytes, by their keys."""

TEXTS = {
    "wrong-header": (
        "The length is four bytes, the lowest first, and counts the body alone. Compose it with "
        "shifts. The header of a reply holds the length of the reply's own body."
    ),
    "wrong-body": (
        "The length is right and the body is not. Look at the offset of the first difference. At "
        "0 the body was taken from the wrong place; later, it is where one read() or write() "
        "ended and the next began."
    ),
    "extra-bytes": (
        "More bytes came than were due. Is something sent twice, perhaps after a partial write()? "
        "Or is a whole buffer sent instead of the bytes that are in it?"
    ),
    "one-read-one-message": (
        "One read() was taken for one message. A read() returns what has arrived so far, which "
        "can be one byte of the header. Call it again for the missing bytes until all have "
        "arrived."
    ),
    "length-byte-lost": (
        "All four bytes of the header count, the lowest first: b0 + b1*2^8 + b2*2^16 + b3*2^24. "
        "Convert each byte to 32 bits, unsigned, before you shift it. The length counts the body "
        "alone, and not the header."
    ),
    "body-is-not-text": (
        "A body is bytes, not text: 0 does not end it, and 10 and 13 do not end a line. Use its "
        "length, and no string function."
    ),
    "partial-frame-answered": (
        "The input ended inside a frame, and the server answered it all the same. If read() "
        "returns 0 inside a header or a body, drop the partial frame and close."
    ),
    "urgent-in-the-stream": (
        "A byte of urgent data came between two frames, and was read as part of a frame. TCP keeps "
        "it outside of the stream, unless SO_OOBINLINE is set: do not set it, and do not read with "
        "MSG_OOB."
    ),
    "state-left-over": (
        "Descriptor numbers are used again at once. Initialise everything that belongs to a "
        "connection (buffer, state, offset) for each new one, and free it with the connection."
    ),
    "state-shared": (
        "Two clients got into each other's way. Buffer, state and offset belong to one "
        "connection. Look for static or global variables, and for memory to which several "
        "connections point."
    ),
}
