"""What looks at a server from outside: the kernel's counters, valgrind, sanitizers, gdb.

Imports: evidence, lab, linux, server.
"""
