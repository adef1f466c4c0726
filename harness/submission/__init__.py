"""Which chapters there are, what is to be graded, its seed; from solutions to skeletons; how
commands begin and end; how files, tables and numbers are read and written; what other programs
answer; units.

Imports: nothing.
"""
