"""The graded tests, test_NN_*.py, and what they work with.

    marker.py     what makes a function a claim
    context/      what one claim is given: its servers, and what can be found out about them
    scenarios/    what several claims do to a server
"""
