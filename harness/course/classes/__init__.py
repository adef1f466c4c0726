"""A class: its submissions, the grade of each, and the page about all of them.

    command.py       the options of make class, and the order of the steps
    submissions.py   what was handed in, and which hand-in counts
    unpack.py        a hand-in as plain files in a directory of ours
    extract.py       unpacks one archive, in a process with limits
    labels.py        the name or the number of a submission, and its places
    records.py       the result of one submission, whether it is still valid; the table of points
    grade_one.py     grades one submission, in a process of its own
    pool.py          runs these processes, some at a time
    whole.py         which grades are missing, how far it is, and the files about all of them
    page.py          the page about all of them
"""
