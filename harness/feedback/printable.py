"""Bytes and foreign text as what a terminal can show without harm."""

from __future__ import annotations


def printable(data: bytes) -> str:
    """The bytes as ASCII, a dot for each that cannot be printed."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)


def harmless(text: str) -> str:
    """The text with a dot for every character that would move the cursor, or worse."""
    return "".join(char if char.isprintable() or char in "\n\t" else "." for char in text)
