"""From claims to points: loads claims, runs them in a separate pytest, and reports as text and
JSON.

Imports: evidence, instruments, lab, linux, others, server, stage.
"""
