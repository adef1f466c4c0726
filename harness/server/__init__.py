"""One server as a process: built, started, limited, drained, and certainly gone in the end.

Imports: evidence, lab, linux, shim.
"""
