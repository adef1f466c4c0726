"""What the people need who change the lab: wrong servers, busy cores, pictures.

Imports: everything.
"""
