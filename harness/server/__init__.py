"""One server as a process: built, started, limited, drained, and certainly ended.

Imports: evidence, lab, linux, shim.
"""
