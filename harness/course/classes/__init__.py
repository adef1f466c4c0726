"""A class: its submissions, the grade of each, and the page about all of them.

    command.py       make class: the options, which grades are missing, and how far it is
    submissions.py   what was handed in, and which hand-in counts
    unpack.py        a hand-in as plain files in a directory of ours
    records.py       the result of one submission, whether it is still valid; the table of points
    grade_one.py     grades one submission, in a process of its own
    pool.py          runs these processes, some at a time
    page.py          the page about all of them
"""
