"""The hints of docs/reading-failures.md#the-first-frames, by their keys."""

TEXTS = {
    "bytes-not-frames": (
        "This is an echo of bytes. A reply is due when its frame is complete, and not before: "
        "read the four bytes of the length, then as many bytes as it says, and only then write."
    ),
    "byte-order": (
        "The length is four bytes with the lowest first: 5 is 05 00 00 00. ntohl() and htonl() "
        "put the highest first. Compose the number with shifts: b0 + b1*2^8 + b2*2^16 + b3*2^24."
    ),
    "no-header": (
        "A reply is a frame too: four bytes with the length of its body, and then the body."
    ),
    "same-reply": (
        "The reply has to be the body that was sent. Does it come from a constant, from a buffer "
        "that is never filled, or from the first request?"
    ),
    "unread": (
        "The bytes are still in the kernel. Either the server never called accept() for this "
        "connection, or it waits for something else and never calls read() on it."
    ),
    "low-water": (
        "The bytes are in the kernel, and the wait does not report them before more have come. "
        "SO_RCVLOWAT says how many bytes make a socket readable: leave it at 1, since no byte may "
        "follow."
    ),
    "short-frames-only": (
        "Short frames come back and longer ones do not. Is there a buffer of a fixed size, such "
        "as 4,096 bytes? Is one read() taken for a whole frame, or one write() for a whole reply?"
    ),
    "one-client-only": (
        "One client is served and another is not. Look at what the server does with a second "
        "connection. Which call waits for the first client, and what happens to the second "
        "descriptor?"
    ),
    "ends-with-a-client": (
        "The end of a connection must not end the server. When read() returns 0 or an error, "
        "close this connection and serve the others. exit() and a return from main() are for "
        "signals."
    ),
}
