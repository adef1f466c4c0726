"""From claims to points: loaded, run in a pytest of their own, and told as text and as JSON.

Imports: evidence, instruments, lab, linux, server, stage.
"""
