"""The hints of docs/reading-failures.md#the-connection-was-closed, by their keys."""

TEXTS = {
    "connect-refused": (
        "No program listens on the port any more. Either the server has ended, or it has closed "
        "its listening socket. The next accept() needs that socket, so keep it open after a "
        "client is served."
    ),
    "closed-early": (
        "The server closed the connection although a reply was due. Look for the reason in its "
        "log. EAGAIN, EINTR and a read() that returned fewer bytes than requested are no reason "
        "to close."
    ),
    "closed-in-reply": (
        "The reply was cut short by a close. Did write() take only a part of it? Send the "
        "remainder before you close, and do not give up at EAGAIN or EINTR."
    ),
    "reset-early": (
        "A reset means that the server died, or that it closed the connection with unread bytes "
        "from the client. First see whether the server still runs."
    ),
    "not-closed": (
        "The server has to close this connection, and it is still open. read() returning 0 means "
        "that the client will send no more. A length over the maximum ends the connection too."
    ),
    "logged-not-closed": (
        "The server's log says that the connection is closed, and its socket is still open. A "
        "state or a line in the log closes nothing: close() has to be called for this descriptor, "
        "whatever the reason for the end is."
    ),
    "large-frame-refused": (
        "Read the reason in the log. Out of memory: the buffer does not grow to the size of the "
        "frame; too long: N counts the body alone, N = 33,554,432 is allowed, and its buffer "
        "needs 4 bytes more. If it says neither, a read() that returned less than requested may "
        "be taken for EOF."
    ),
    "refused-as-too-long": (
        "The server's log says that a frame is too long, but none is. Print the length that it "
        "has read: if it is right, the comparison is wrong. Otherwise other bytes were taken for "
        "a header: bytes of a body, after a read() that returned less than requested, or bytes of "
        "another client."
    ),
    "length-not-refused": (
        "A length over the maximum has to close the connection at once. Does it use all four "
        "bytes, and is it compared before anything is read or allocated? Is it unsigned, so that "
        "0x80000000 is not negative?"
    ),
    "replies-lost-at-eof": (
        "Replies that were owed are lost. EOF, or a frame that is too long, means that no more "
        "requests will come. Send the replies to the earlier requests first, then close."
    ),
    "reset-by-close": (
        "The server closed, and a reset destroyed replies that its kernel had not sent yet. If "
        "SO_LINGER is set with a time of 0, close() throws them away: do not set it. close() also "
        "resets while bytes of the client are unread: read up to EOF first."
    ),
    "given-up": (
        "A client may do nothing for as long as it likes, and keeps its connection. SO_RCVTIMEO "
        "and SO_SNDTIMEO make a call fail with EAGAIN after some time, and TCP_USER_TIMEOUT ends "
        "the connection: do not set them."
    ),
    "closed-in-the-iteration": (
        "A client connected as another one left, and lost its connection. A descriptor closed "
        "within an iteration is given to a new client at once, so an old event or a second "
        "close() hits the new client. Close after dispatch, once."
    ),
}
