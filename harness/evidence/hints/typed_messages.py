"""The hints of docs/reading-failures.md#typed-messages, by their keys."""

TEXTS = {
    "wrong-seq": (
        "A reply begins with the cmd and the seq of its request. Of a request that is too short "
        "for one of them, that one is -1."
    ),
    "wrong-status": (
        "The status says what became of the request. 1: there is no such command, whatever its "
        "fields; 2: its bytes are not the fields of the command; 3: they are, and make no sense; "
        "4: the result does not fit. Which question is asked first, and which is not asked?"
    ),
    "wrong-fields": (
        "cmd, seq and status are right, and what is behind them is not. Are these the fields of "
        "the command, in their order? A number has its lowest byte first, a string its length in "
        "front."
    ),
    "reply-head": (
        "A reply is a frame: its length, the lowest byte first, and behind it the bytes it "
        "counts, without the length itself: i32 cmd, i32 seq, i32 status, then the fields."
    ),
    "malformed-stays": (
        "A malformed message came in a sound frame, and behind it is the next one: answer with "
        "status 2 and go on. Only a frame that is too long ends the connection."
    ),
    "number-bytes": (
        "Every byte of a number counts, the lowest first, whatever its highest bit. Widen each to "
        "64 bits, unsigned, before you shift it: a uint8_t by itself becomes an int of 32 bits."
    ),
    "leb128-groups": (
        "LEB128 has 7 bits of the number in each byte, the lowest first; bit 7 says that one more "
        "byte follows. There are five at most, and the fifth may hold no more than 0x0f."
    ),
    "beyond-the-message": (
        "What a message says of itself may be a lie. Compare a length with the bytes that are "
        "left, in a way that cannot wrap: size > left, and not next + size > end, nor count * 8 "
        "in 32 bits. And behind the last field nothing may be left."
    ),
    "reply-too-long": (
        "The reply of an ECHO has more in front of its string than the request, and no frame may "
        "have more than 32 MiB. Ask before you begin to write it: status 3."
    ),
    "wrong-counts": (
        "STATS has connections that are open now; frames received, this one and malformed ones "
        "too; replies made, without this one. All connections count together."
    ),
    "sum-of-i64": (
        "Read as many numbers as the count says, of 8 bytes each; behind the last one nothing may "
        "be left. Add in 64 bits, and find out whether the sum is too large or too small before "
        "you use it: __builtin_add_overflow() tells both."
    ),
}
