"""The hints of docs/reading-failures.md#a-module-by-itself, by their keys."""

TEXTS = {
    "module-not-built": (
        "A program of the grader is linked with this module and calls what its header declares. "
        "Every function of the header has to exist under its name, even if your server does not "
        "call it."
    ),
    "in-the-module": (
        "The module was called in the marked step and did not return. The last command below "
        "stops in gdb before that step: type `continue`. After a crash, or after Ctrl-C if it "
        "hangs, `bt` shows the line."
    ),
    "module-refuses": (
        "A call failed that has to work here, and its reason is errno. Check each system call it "
        "makes: does the operation fit (EPOLL_CTL_ADD comes before EPOLL_CTL_MOD)? Is its result "
        "(0 or -1, true or false) tested the right way round?"
    ),
    "module-crashed": (
        "The module crashed in the marked step, at the line that `crashed` shows. Check each "
        "pointer and size there. If that line is right, memory was overwritten earlier."
    ),
    "undefined-behaviour": (
        "The C standard does not define what this line does, so the compiler may do anything. "
        "Convert a byte to an unsigned type that is wide enough before you shift it. Do not pass "
        "NULL to memcpy() or memmove(), not even with 0 bytes."
    ),
    "length-in-front": (
        "The length counts the bytes that follow it, and is written where the frame begins. Keep "
        "that place as an offset from the head of the buffer. A pointer is invalid as soon as the "
        "buffer grows, because the buffer may move."
    ),
    "no-free-space": (
        "There was no memory for a field. The writer has to remember that, whatever is written "
        "next. Then writer_end() returns the failure and leaves the buffer as it was before the "
        "frame."
    ),
    "there-and-back": (
        "The reader does not find what the writer has written. Write down the bytes of the field "
        "in the marked step as docs/protocol.md defines them. Then see which of the two is wrong."
    ),
    "fuzzed-message": (
        "The bytes of this message were made at random, and no real client would send them. Go "
        "through them by hand, field by field. How many bytes does each field need, and how many "
        "are left?"
    ),
}
