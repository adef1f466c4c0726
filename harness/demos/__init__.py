"""One demo a chapter: what its handout shows first, over real sockets.

Imports: bench, client, evidence, instruments, lab, linux, scenarios, server, shim.
"""
