"""Tables as text, called CSV: all that the lab writes, and those that it reads from people.

A text that we write may begin like a formula, such as =1+1. It gets an apostrophe in front, which
plain() takes away again: https://owasp.org/www-community/attacks/CSV_Injection
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

RFC_4180 = "\r\n"  # ends a line
# A place where a cell may begin, also for a spreadsheet that separates with semicolons, and after
# it what makes a formula of the cell.
_BEGIN = r"(?:^|(?<=;))"
_FORMULA = r"(?=[\s']*[=+\-@\uff1d\uff0b\uff0d\uff20]|'*[\t\r\n])"
_TO_QUOTE, _QUOTED = re.compile(_BEGIN + _FORMULA), re.compile(f"{_BEGIN}'{_FORMULA}")


class Unreadable(ValueError):
    """The file is no table in UTF-8. The message says what to do."""


def write(rows: Iterable[Iterable[object]], end: str = "\n") -> str:
    """The rows as text; `end` ends a line. Numbers are written as they are."""
    return "".join(_line(row) + end for row in rows)


def _line(row: Iterable[object]) -> str:
    out = io.StringIO()
    lines = csv.writer(out, lineterminator=RFC_4180)  # quotes a cell with a part of this
    lines.writerow([_TO_QUOTE.sub("'", one) if isinstance(one, str) else one for one in row])
    return out.getvalue().removesuffix(RFC_4180)


def read(data: bytes) -> tuple[list[list[str]], str]:
    """The rows of a table in UTF-8, and what separates its cells: a comma; or a semicolon, as in
    countries with a decimal comma. Raises Unreadable."""
    try:
        text = data.decode("utf-8-sig")
        separator = max(",;", key=text.partition("\n")[0].count)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        return list(rows), separator
    except (UnicodeDecodeError, csv.Error) as error:
        raise Unreadable(f"save it as CSV in UTF-8: {error}") from None


def plain(cell: str) -> str:
    """A cell that write() has written, as it was before."""
    return _QUOTED.sub("", cell)


def number(text: str, separator: str) -> float:
    """The number in a cell of a table with this separator. Raises ValueError."""
    return float(text.replace(",", ".") if separator == ";" else text)
