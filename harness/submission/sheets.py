"""Tables as text, called CSV: all that the lab writes, and those that it reads from people.

A spreadsheet writes such a file as its country does: with semicolons, tabs or commas, in one of
several encodings, and perhaps with a first line sep=; that names the separator. A table can be
written back with some cells changed, and everything else stays as it was.

A text that we write may begin like a formula, such as =1+1. It gets an apostrophe in front, which
reading takes away again: https://owasp.org/www-community/attacks/CSV_Injection
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

RFC_4180 = "\r\n"  # ends a line
BOM = "\ufeff"
BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
# Any bytes are text in latin-1. Both it and cp1252 give the same bytes when they are written back.
ENCODINGS = ("utf-8", "cp1252", "latin-1")
SEPARATORS = (",", ";", "\t")
NAMED = re.compile(rf'{BOM}?("?)sep=([^"\r\n])\1(?:\r\n|\r|\n)', re.IGNORECASE)
# A place where a cell may begin, also for a spreadsheet that separates with semicolons, and after
# it what makes a formula of the cell.
_BEGIN = r"(?:^|(?<=;))"
_FORMULA = r"(?=[\s']*[=+\-@\uff1d\uff0b\uff0d\uff20]|'*[\t\r\n])"
_TO_QUOTE, _QUOTED = re.compile(_BEGIN + _FORMULA), re.compile(f"{_BEGIN}'{_FORMULA}")


class Unreadable(ValueError):
    """The file is not such a table. The message says why, and what to do."""


def write(rows: Iterable[Iterable[object]], end: str = "\n") -> str:
    """The rows as text; `end` ends a line. Numbers are written as they are."""
    return "".join(_line(row) + end for row in rows)


def _line(row: Iterable[object]) -> str:
    out = io.StringIO()
    lines = csv.writer(out, lineterminator=RFC_4180)  # quotes a cell with a part of this
    lines.writerow([_TO_QUOTE.sub("'", one) if isinstance(one, str) else one for one in row])
    return out.getvalue().removesuffix(RFC_4180)


def records(text: str, titles: Collection[str]) -> list[dict[str, str]]:
    """The rows of a table that write() has made, each by the titles in the first row; also after a
    spreadsheet has saved it. Raises Unreadable if a title is missing."""
    head, *rows = read(text, titles).rows
    missing = [title for title in titles if title not in head]
    if missing:
        raise Unreadable(f"it has no column {missing[0]!r}")
    found = [[_QUOTED.sub("", cell) for cell in row] for row in rows if any(row)]
    return [dict(zip(head, row)) for row in found]


@dataclass(frozen=True)
class Sheet:
    """`rows`: the text of each cell. `places`: where each is in `text`, quotes included."""

    text: str
    separator: str
    rows: list[list[str]]
    places: list[list[tuple[int, int]]]

    def changed(self, cells: Mapping[tuple[int, int], str]) -> str:
        """The text with new contents of some cells, by row and column. A cell keeps its quotes."""
        text = self.text
        for (row, column), new in sorted(cells.items(), reverse=True):
            begin, end = self.places[row][column]
            if text[begin:end].startswith('"') or self.separator in new:
                new = f'"{new}"'
            text = text[:begin] + new + text[end:]
        return text


def decoded(data: bytes) -> tuple[str, str]:
    """The text, and its encoding. A byte order mark stays in the text. Raises Unreadable."""
    for encoding in [BOMS[data[:2]]] if data[:2] in BOMS else ENCODINGS:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text, encoding
    raise Unreadable("it is not text: save it as CSV, in UTF-8")


def read(text: str, titles: Collection[str]) -> Sheet:
    """The table, whose first row has some of the titles. Raises Unreadable."""
    named = NAMED.match(text)
    start = named.end() if named else len(BOM) if text.startswith(BOM) else 0
    first = re.split(r"[\r\n]", text[start:], maxsplit=1)[0]

    def known(separator: str) -> int:
        return len({one.strip().strip('"') for one in first.split(separator)} & set(titles))

    separator = max([named[2]] if named else SEPARATORS, key=known)
    if not known(separator):
        raise Unreadable(f"its first line has none of {', '.join(titles)}")
    return Sheet(text, separator, *_split(text, start, separator))


def _split(text: str, start: int, separator: str) -> tuple[list, list]:
    """The rows and places of a Sheet. Raises Unreadable."""
    mark = re.escape(separator)
    content = rf'"(?P<quoted>[^"]*(?:""[^"]*)*)"|(?!")(?P<plain>[^{mark}\r\n]*)'
    cell = re.compile(rf"(?:{content})(?P<end>{mark}|\r\n|\r|\n|\Z)")
    rows: list[list[str]] = [[]]
    places: list[list[tuple[int, int]]] = [[]]
    while start < len(text) or rows[-1]:
        found = cell.match(text, start)
        if not found:
            line = len(re.findall(r"\r\n|\r|\n", text[:start])) + 1
            raise Unreadable(f"line {line}: a quotation mark is not closed, or text follows it")
        quoted = found["quoted"]
        rows[-1].append(found["plain"] if quoted is None else quoted.replace('""', '"'))
        places[-1].append((start, found.start("end")))
        start = found.end()
        if found["end"] != separator:
            rows.append([])
            places.append([])
    return rows[:-1], places[:-1]
