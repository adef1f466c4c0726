"""The catalogue of wrong servers: each is one small change to a solution, and a test must catch it.

wrong_server.py says what one is, catalogue.py reads all of them from
solutions/NN-name/wrong-servers.patch and checks that they are sound, judge.py grades them by means
of grader.py, report.py prints the results, history.py compares the catalogue with an earlier one.
"""
