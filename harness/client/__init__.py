"""The other end: a TCP client that compares each reply, and what it sends and expects as bytes.

Imports: evidence, lab, linux, server.
"""
