"""A grade in the formats of other programs: pure functions of the object of build/results/NN.json.

Imports: evidence, lab.
"""
