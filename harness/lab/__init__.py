"""Which chapters there are, what is to be graded, what decides its chance; how commands end; units.

Imports: nothing.
"""
