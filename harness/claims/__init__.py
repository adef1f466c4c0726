"""The graded tests, test_NN_*.py, and what they work with.

    marker.py       what makes a function a claim
    stage/          what one claim is given: its servers and programs, and what became of them
    scenarios/      what several claims do to a server
    instruments/    looking at a server from outside: counters, valgrind, sanitizers, gdb
    programs/       programs in C that call single modules of a submission

Imports: client, failures, lab, server.
"""
