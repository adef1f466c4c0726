"""Which chapters there are, what is to be graded, its seed; how commands end, and how files are
written; units.

Imports: nothing.
"""
