"""What a failure shows: what went wrong, the bytes, the conversation, and in hints/ what to do.

Imports: lab.
"""
