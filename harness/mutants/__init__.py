"""The catalogue of wrong servers: each is one small change to a solution, and a test must catch it.

mutant.py says what one is, chNN.py are the data, catalogue.py has all of them and checks that they
are sound, judge.py grades them, matrix.py prints what came of it, page.py writes docs/mutants.md.

Imports: evidence, grading, lab, server, skeleton.
"""
