"""What the people need who change the lab: wrong servers, random clients, pictures.

Imports: everything.
"""
