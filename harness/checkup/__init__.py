"""What this machine can judge: the instruments that claims need, each tried once.

Imports: evidence, grading, instruments, lab, linux, others, server, shim.
"""
