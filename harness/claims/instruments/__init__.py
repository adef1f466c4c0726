"""What looks at a server from outside: the kernel's counters, valgrind, sanitizers, gdb,
the lines of a crash, locks that are waited for.
"""
