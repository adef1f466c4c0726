"""What the kernel tells and does, a module for each of its interfaces; no policy of ours.

Imports: lab.
"""
