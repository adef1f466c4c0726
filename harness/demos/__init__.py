"""One demo a chapter: what its handout shows first, over real sockets. chNN.py has show().

Imports: bench, client, evidence, instruments, lab, linux, others, scenarios, server, shim.
"""
