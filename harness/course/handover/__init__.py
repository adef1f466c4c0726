"""What leaves the lab, or comes back to it, as one file: the handout, a hand-in, an appeal, each a
command; and the points that are left when a hand-in is late.
"""
