"""What one test is given, its servers or programs of the grader, and what became of them.

Imports: client, evidence, instruments, lab, linux, server, shim.
"""
