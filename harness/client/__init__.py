"""The other end: a TCP client that compares each reply, and what it sends and expects as bytes.

    redis/    programs that others wrote for the protocol of Redis
"""
