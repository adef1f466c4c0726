"""Which chapters there are, what is to be graded, its seed; how commands end; units.

Imports: nothing.
"""
