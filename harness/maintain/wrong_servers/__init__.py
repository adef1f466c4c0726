"""The catalogue of wrong servers: each is one small change to a solution, and a test must catch it.

wrong.py says what one is, patch.py changes the solution, catalogue.py reads all of them from
solutions/NN-name/wrong-servers.patch and checks that they are sound, judge.py grades them by means of
grader.py, matrix.py prints the results, page.py makes a page of them.

rules.py makes other wrong servers, by the hundred: small changes of what students write, without
regard to what they mean. candidates.py has all of them, sweep.py finds those that no claim sees.
"""
