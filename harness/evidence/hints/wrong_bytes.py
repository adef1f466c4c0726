"""The hints of docs/reading-failures.md#wrong-bytes, by their keys."""

TEXTS = {
    "wrong-header": (
        "The length is four bytes, the lowest first, and counts the body alone. Compose it with "
        "shifts; a reply's header says how long the reply's own body is."
    ),
    "wrong-body": (
        "The length is right and the body is not. Look at the offset: at 0, the body was taken "
        "from the wrong place; later, it is where one read() or write() ended and the next began."
    ),
    "extra-bytes": (
        "More came than was asked for. Is something sent twice, after a partial write() perhaps? "
        "Or a whole buffer instead of the bytes that are in it?"
    ),
    "one-read-one-message": (
        "One read() was taken for one message. A read() returns what has arrived so far, which "
        "can be one byte of the header: call it again, for what is missing, until all of it is "
        "there."
    ),
    "length-byte-lost": (
        "All four bytes of the header count, the lowest first: b0 + b1*2^8 + b2*2^16 + b3*2^24. "
        "Widen each byte to 32 bits, unsigned, before you shift it. The length counts the body "
        "alone, and not the header."
    ),
    "body-is-not-text": (
        "A body is bytes and no text: 0 does not end it, and 10 and 13 are not the ends of lines. "
        "Use its length, and no function for strings."
    ),
    "partial-frame-answered": (
        "The input ended inside a frame, and the server answered all the same. A read() of 0 in "
        "the middle of a header or a body: drop what there is and close."
    ),
    "state-left-behind": (
        "Descriptor numbers are used again at once. What belongs to a connection (buffer, state, "
        "offset) has to be made anew for each, and freed with it."
    ),
    "state-shared": (
        "Two clients got into each other's way. Buffer, state and offset belong to one "
        "connection: look for what is static or global, and for what all of them point to."
    ),
}
