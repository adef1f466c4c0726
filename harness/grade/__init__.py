"""From claims to points: loads claims, runs them in a separate pytest, and reports as text and
JSON.

Imports: claims, client, failures, lab, server.
"""
