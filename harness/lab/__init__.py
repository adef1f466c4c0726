"""Which chapters there are, what is to be graded, and the number that decides its chance.

Imports: nothing.
"""
