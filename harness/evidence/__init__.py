"""What a failure shows: what went wrong, the bytes, the conversation, and a hint.

Imports: lab.
"""
