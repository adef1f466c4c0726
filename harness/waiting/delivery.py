"""What is between a client and the server: with the kernel, on its way to one of them.

The kernel of this machine has both sockets, and so it knows.
"""

from __future__ import annotations

import os
import socket
from weakref import WeakSet

from harness.waiting import sockdiag

_ended: WeakSet = WeakSet()  # clients that have closed, and the server has heard of it


def all_arrived(clients: list) -> bool:
    """Whether each of these clients has_arrived(). True where the kernel does not tell."""
    try:
        return all(map(has_arrived, clients))
    except sockdiag.Unavailable:
        return True


def has_arrived(client) -> bool:
    """Whether the kernel has delivered to the server all that this client has sent so far, and its
    end, as far as the server's socket has space. Raises sockdiag.Unavailable."""
    if client in _ended:
        return True
    if not client.closed:
        if sockdiag.acknowledged(client.fileno()):  # as a rule: there are thousands of these looks
            return True
        with socket.socket(fileno=os.dup(client.fileno())) as ours:
            return sockdiag.arrived(ours)
    here, there = client.ends
    theirs = sockdiag.end(there, here)
    if theirs is None or theirs.has_heard_of_the_end:
        _ended.add(client)
        return True
    ours_left = sockdiag.end(here, there)
    return ours_left is not None and ours_left.finds_no_space


def is_in_backlog(client) -> bool:
    """Whether the server has not accepted this client yet. False where the kernel does not tell."""
    theirs = _end_of_server(client)
    return theirs is not None and theirs.is_in_backlog


def has_unread(client) -> bool:
    """Whether bytes of this client have come to the server's kernel, and the server has not read
    them. False where the kernel does not tell."""
    theirs = _end_of_server(client)
    return theirs is not None and theirs.unread > 0


def _end_of_server(client) -> sockdiag.End | None:
    try:
        return None if client.closed else sockdiag.end(*reversed(client.ends))
    except sockdiag.Unavailable:
        return None


def is_owed(client) -> bool:
    """Whether the kernel has bytes of the server for this client, which has read all that came.
    Raises sockdiag.Unavailable.

    So it is for long where a small receive buffer was full: what did not fit is sent again, each
    time after twice the time.
    """
    if client.closed or client.drops:
        return False
    here, there = client.ends
    ours, theirs = sockdiag.end(here, there), sockdiag.end(there, here)
    return bool(ours and theirs) and ours.unread == 0 and theirs.unsent > 0


def is_delivering(client) -> bool:
    """Whether the kernel still has something for this client, or from it for a server that has
    nothing else to read. Raises sockdiag.Unavailable."""
    if client.closed:
        return not has_arrived(client)
    here, there = client.ends
    ours, theirs = sockdiag.end(here, there), sockdiag.end(there, here)
    if theirs is None:
        return ours is not None and ours.asks and not sockdiag.accepts_no_more(there, here)
    waits_for_us = client.drops or ours is not None and ours.unread > 0 and theirs.finds_no_space
    if theirs.begins or theirs.unsent > 0 and not waits_for_us:
        return True
    return not (theirs.unread or has_arrived(client))
