"""Numbers as make variables write them."""

from __future__ import annotations

MOST_DIGITS = 18  # of a whole number


def is_whole(text: str) -> bool:
    """Returns true if it is a whole number in digits that int() takes; str.isdigit() also takes
    others."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
