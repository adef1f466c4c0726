"""A class: its submissions, the grade of each as one unit of work, and the page about all of them.

    submissions.py   what was handed in, and which hand-in counts
    unpack.py        a hand-in as plain files in a directory of ours
    labels.py        the name or the number of a submission, and its places
    records.py       the result of one submission, whether it is still valid; the table of points
    unit.py          grades one submission, in a process of its own
    pool.py          runs units on this machine, some at a time
    engines.py       what an engine is, which runs the units
    plan.py          the units as a file, for engines on several machines, and what runs them
    parallel.py      GNU parallel
    slurm.py         a job array of Slurm
    whole.py         which units are needed, and the files about all of them
    progress.py      what is done, what is left
    page.py          the page about all of them
    scoreboard.py    measures the submissions with full marks beside the solution
    ranking.py       the scoreboard as a column, a table and a text
"""
