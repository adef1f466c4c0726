"""What the people need who change the lab: wrong servers, the lab's own tests, English, pictures.

Imports: everything.
"""
