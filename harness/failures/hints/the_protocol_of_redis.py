"""The hints of docs/reading-failures.md#the-protocol-of-redis, by their keys."""

TEXTS = {
    "resp-parser": (
        "A request is complete with the last byte of its last argument, and not before. Keep in "
        "`struct resp` what comes next: a count, a length, or the bytes of an argument. A length "
        "says how many bytes follow: nothing in them ends the argument earlier."
    ),
    "resp-cut": (
        "TCP may cut a request at any byte, also within a length, and between a CR and its LF. "
        "Keep what has come, and go on from there when more comes. Answer every request that is "
        "complete before you wait."
    ),
    "resp-looks-twice": (
        "Between two calls the parser remembers where the next part begins, and up to where it has "
        "looked for a line end. Begin there when more bytes have come. Looking again from the "
        "beginning makes a request of n pieces cost n squared."
    ),
    "resp-inline": (
        "A request that does not begin with `*` is a line: it ends with an LF, and a CR before "
        "that is no part of it. words_next() takes its words out, with their quotes and escapes. "
        "A line without a word is no request and gets no reply."
    ),
    "resp-refused": (
        "Send the replies that are owed, then the error in the words of Redis, then close. Check a "
        "count and a length as soon as their line is complete, and in a type that holds more than "
        "32 bits. A line that has no end after 64 KiB is refused, too."
    ),
    "resp-http": (
        "A web page can make a browser send POST and Host: to 127.0.0.1, and commands in the lines "
        "after them. Close the connection as soon as one of the two comes as the name of a "
        "command: without a reply, and without running what follows."
    ),
    "resp-declared": (
        "A count or a length is only what the client claims. Take memory as bytes arrive: let the "
        "array of arguments and the input grow by doubling, and not to the size that was declared."
    ),
    "resp-reply": (
        "Every reply has one form: +text, -error, :integer, $length and bytes, *count and replies, "
        "each line with CR and LF. A string has the length of its bytes, which may be any. Nil is "
        "$-1, an array that is not there is *-1, and an empty one is *0."
    ),
    "resp-error": (
        "Other people's clients read the words of an error, so they must be those of Redis, and "
        "begin with its kind (ERR, WRONGTYPE). A CR or LF that comes from the client becomes a "
        "space: otherwise it would end the reply. A failed command changes nothing."
    ),
    "resp-error-long": (
        "An error may have 511 bytes of text, and a longer one is cut there. vsnprintf() returns "
        "how long the text would be, and not how many bytes it has written. Send only these."
    ),
    "resp-large": (
        "A reply may be larger than what the kernel takes at once. Append it to the output of the "
        "connection, send what is possible, and go on when the client has read. Replies keep the "
        "order of their requests."
    ),
    "resp-flow": (
        "A command is a frame, too: while the output is above high-water, or the quota is used up, "
        "no further command of this connection is run. The input stays where it is."
    ),
}
