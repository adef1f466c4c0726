"""What keeps the grade of one submission apart from everything else on the machine: bubblewrap,
Landlock, or nothing.
"""
