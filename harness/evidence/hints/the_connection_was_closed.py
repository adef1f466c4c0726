"""The hints of docs/reading-failures.md#the-connection-was-closed, by their keys."""

TEXTS = {
    "connect-refused": (
        "Nobody listens on the port any more. Either the server has ended, or it closed its "
        "listening socket: after a client is served, the next accept() needs that socket again."
    ),
    "closed-early": (
        "The server closed although a reply was due. Let its log say the reason: EAGAIN and EINTR "
        "are none, and neither is a read() that returned fewer bytes than asked for."
    ),
    "closed-in-reply": (
        "The reply was cut short by a close. Has write() taken only a part of it? Send the rest "
        "before you close, and do not give up at EAGAIN or EINTR."
    ),
    "reset-early": (
        "A reset comes from a server that died, or that closed with bytes from the client still "
        "unread. Look at what became of the server first."
    ),
    "not-closed": (
        "The server is to close this connection, and it is still open. read() returning 0 means "
        "that the client will send no more; a length over the maximum ends the connection too."
    ),
    "large-frame-refused": (
        "Does the log say why? Out of memory: the buffer does not grow to what the frame needs; "
        "too long: N counts the body alone, N = 33,554,432 is allowed, and its buffer has 4 bytes "
        "more. Neither: a read() that returned less than asked for is not the end."
    ),
    "refused-as-too-long": (
        "The server's log says that a frame is too long, and none is. Print the length that it has "
        "read: if it is right, the comparison is wrong. Else other bytes were taken for a header: "
        "of a body, after a read() that brought less than it was asked for, or of another client."
    ),
    "length-not-refused": (
        "A length over the maximum has to close the connection at once. Is it made of all four "
        "bytes, and compared before anything is read or allocated? Is it unsigned: 0x80000000 is "
        "no negative number."
    ),
    "replies-lost-at-eof": (
        "Replies that were owed are lost. The end of the input, or a frame too long, says that "
        "nothing more will be asked; what was asked before is still to be sent, and closing comes "
        "after that."
    ),
    "closed-in-the-turn": (
        "A client came as another left, and lost its connection. A descriptor that is closed "
        "within a turn is given to a new client at once, and what was left to be done for the old "
        "one (an event, a second close) hits the new one: close after dispatch, once."
    ),
}
