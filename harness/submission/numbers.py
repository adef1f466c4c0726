"""Numbers as people and make variables write them."""

from __future__ import annotations

import math
import re

MOST_DIGITS = 18  # of a whole number
# A point or comma between thousands is the decimal mark of another country. The blanks are the
# ordinary one, the no-break space and the two thin ones.
_WHOLE = r"\d+|\d{1,3}(?:(?P<group>[.,'\u2019 \u00a0\u2009\u202f])\d{3})(?:(?P=group)\d{3})*"
_WRITTEN = re.compile(rf"(?P<whole>{_WHOLE})(?:(?P<mark>[.,])(?P<part>\d+))?", re.ASCII)


def written(text: str) -> float:
    """A number of a person of any country: 1234.5, 1234,5, 1,234.5, 1.234,5 or 1 234,5.

    Raises ValueError, whose message says what to write instead. "1,000" is one of two numbers.
    """
    text = text.strip()
    found = _WRITTEN.fullmatch(text)
    mark, part, group = found.group("mark", "part", "group") if found else ("", "", "")
    if not found or mark and mark == group:
        raise ValueError(f"{text!r} is not a number such as 20, 20.5 or 20,5")
    whole = re.sub(r"\D", "", found["whole"])
    if mark and not group and len(part) == 3 and len(whole) <= 3 and whole[0] != "0":
        raise ValueError(
            f"{text!r} is {whole}{part} in some countries and {whole}.{part} in others: "
            f"write {whole}{part} or {whole}.{part[:2]}"
        )
    value = float(f"{whole}.{part or 0}")
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too large")
    return value


def is_whole(text: str) -> bool:
    """Whether it is a whole number in digits that int() takes; str.isdigit() also takes others."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
