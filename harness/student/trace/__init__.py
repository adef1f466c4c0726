"""One test as a timeline: what the clients did, and every call that the server made meanwhile.

    timeline.py    what was seen, put in order: lanes, events, and where the bytes were
    fold.py        what repeats itself, told once
    words.py       an event as a line of text
    spins.py       what came again and again and got the server nowhere
    screen.py      a timeline in the terminal
    page.py        and as an HTML file: page.html, with the data put in
    timeline.js    draws it there, and in the site of the lab; timeline.css goes with it
    command.py     make trace

The record is saved by harness/claims/stage/recorder.py, in the process that runs the test.
"""
