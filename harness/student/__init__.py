"""The commands of a student besides grade: run, watch, replay, trace, demo, fuzz, doctor, bench.
"""
