"""One test as a timeline: what the clients did, and every call that the server made meanwhile.

    capture.py     in the process that runs the test: what was seen, saved as JSON
    timeline.py    what was seen, put in order: lanes, events, and where the bytes were
    fold.py        what repeats itself, told once
    screen.py      a timeline in the terminal
    page.py        and as an HTML file (page.css, page.js)
    __main__.py    make trace

Imports: evidence, grade, grading, lab, replay, server, shim.
"""
