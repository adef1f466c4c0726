"""The hints of docs/reading-failures.md#a-module-by-itself, by their keys."""

TEXTS = {
    "module-not-built": (
        "A program of the grader is linked with this module and calls what its header declares. "
        "All functions of the header have to be there, under these names, also those that your "
        "server does not call."
    ),
    "in-the-module": (
        "The module was called in the marked step, and did not come back. The last command below "
        "stops before it: `continue`, and after a crash, or Ctrl-C where it hangs, `bt` shows the "
        "line."
    ),
    "module-refuses": (
        "A call failed that has to work here, and its reason is errno. Look at each call it makes "
        "in turn: does the operation fit (EPOLL_CTL_ADD comes before EPOLL_CTL_MOD), and is its "
        "result, 0 or -1, true or false, taken the right way round?"
    ),
    "module-crashed": (
        "The module crashed in the marked step, and `crashed` is the line that it was in. Look at "
        "each pointer and size there. If nothing is wrong with that line, memory was overwritten "
        "earlier."
    ),
    "undefined-behaviour": (
        "C says nothing about what this line does, so the compiler may do anything. A byte is an "
        "int when it is shifted, with a sign and 32 bits: widen it first, to what the result "
        "needs, unsigned."
    ),
    "length-in-front": (
        "The length says how many bytes are behind it, and goes where the frame begins. Keep that "
        "place as a number, counted from the head: the buffer moves when it grows, and a pointer "
        "into it is of no use then."
    ),
    "no-room": (
        "There was no memory for a field. The writer remembers that, whatever comes later, and "
        "writer_end() says so and leaves the buffer as it was before the frame."
    ),
    "there-and-back": (
        "What the writer has written the reader does not find. Write down the bytes of the field "
        "in the marked step as the protocol has them, and see which of the two is wrong."
    ),
    "fuzzed-message": (
        "This message holds something that nobody writes on purpose. Go through its bytes by "
        "hand, field by field: how many does each need, and how many are left?"
    ),
}
