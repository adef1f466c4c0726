"""The autograder that `make gradescope` packs: which files it has, and the programs it starts with.

Imports: classroom, handover, isolation, lab.
"""
