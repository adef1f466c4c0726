"""One test as a timeline: what the clients did, and every call that the server made meanwhile.

    timeline.py    what was seen, put in order: lanes, events, and where the bytes were
    fold.py        what repeats itself, told once; and what got the server nowhere
    words.py       an event as a line of text
    rows.py        the rows of a timeline, and how a terminal shows them
    page.py        the same rows as an HTML file
    command.py     make trace

The record is saved by harness/claims/context/recorder.py, in the process that runs the test.
"""
