"""Tools for people who change the lab: wrong servers, repeated grades, pictures.

Imports: everything.
"""
