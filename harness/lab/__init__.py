"""Which chapters there are, what is to be graded, its seed; how commands begin and end; how files,
tables and numbers are read and written; units.

Imports: nothing.
"""
