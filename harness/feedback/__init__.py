"""What a failure shows: what went wrong, the bytes, the conversation, and in hints.md what to do.

Imports: lab.
"""
