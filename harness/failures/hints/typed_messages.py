"""The hints of docs/reading-failures.md#typed-messages, by their keys."""

TEXTS = {
    "wrong-seq": (
        "A reply begins with the cmd and the seq of its request. If a request is too short for "
        "one of them, reply with -1 in its place."
    ),
    "wrong-status": (
        "The status says what became of the request. 1: the command does not exist, whatever its "
        "fields; 2: its bytes are not the fields of the command; 3: a field has a value that is "
        "not allowed; 4: the result does not fit. Which condition does your code check first, and "
        "which not at all?"
    ),
    "wrong-fields": (
        "cmd, seq and status are right, and what follows them is not. Are these the fields of the "
        "command, in their order? A number has its lowest byte first, and a string has its length "
        "before it."
    ),
    "reply-head": (
        "A reply is a frame. Its length comes first, the lowest byte first, and does not count "
        "itself. Then come i32 cmd, i32 seq, i32 status and the fields."
    ),
    "malformed-stays": (
        "A malformed message came in a sound frame, and the next message follows it: answer with "
        "status 2 and go on. Only a frame that is too long ends the connection."
    ),
    "number-bytes": (
        "Every byte of a number counts, the lowest first, whatever its highest bit. Convert each "
        "to 64 bits, unsigned, before you shift it: a uint8_t by itself becomes an int of 32 "
        "bits."
    ),
    "leb128-groups": (
        "LEB128 has 7 bits of the number in each byte, the lowest first. Bit 7 says that one more "
        "byte follows. There are five bytes at most, and the fifth may be at most 0x0f."
    ),
    "beyond-the-message": (
        "A length in a message may be a lie. Compare it with the bytes that are left, in a way "
        "that cannot overflow: size > left, and not next + size > end, nor count * 8 in 32 bits. "
        "No bytes may be left after the last field."
    ),
    "reply-too-long": (
        "The reply of an ECHO has more bytes before its string than the request, and no frame may "
        "have more than 32 MiB. Check that before you begin to write it: status 3."
    ),
    "wrong-counts": (
        "STATS returns three counts over all connections: those open now, the frames received, "
        "and the replies made. The frames received include this one and malformed ones. The "
        "replies made do not include this one."
    ),
    "sum-of-i64": (
        "Read as many numbers as the count says, of 8 bytes each. No bytes may be left after the "
        "last one. Add in 64 bits, and check for overflow in both directions before you use the "
        "sum: __builtin_add_overflow() does."
    ),
}
