"""All results of a class as one HTML file that needs nothing else: no network, no other file.

It is readable without its script, which only sorts tables. Every text of a submission is escaped.
"""

from __future__ import annotations

import html
import re
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from harness.course.classes import records
from harness.course.classes.records import FAILED, NOT_JUDGED, PASSED, Graded
from harness.course.classes.submissions import shown
from harness.feedback.hints import HINTS
from harness.submission.chapters import Chapter
from harness.submission.sizes import KIB

TEMPLATE = Path(__file__).with_name("page.html")
TEXT_BYTES = 24 * KIB  # of one submission: more would make a browser slow
MOST_HINTS = 10
SIGNS = {PASSED: ("✓", "passed"), FAILED: ("✗", "failed"), NOT_JUDGED: ("?", "open")}
FILES = (
    (records.OUTPUT, "what the student should see"),
    (records.TRACES[0], "the first failure, call by call"),
    (records.TRACES[1], "the first failure, call by call"),
    (records.RESULT, "result"),
    (records.LOG, "log"),
    (f"{records.SOURCES}/", "sources"),
)


@dataclass
class Claim:
    """One claim, over the whole class. `own`: it earns points, and is no guard."""

    name: str
    number: str
    text: str
    own: bool
    verdicts: Counter = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    @property
    def judged(self) -> int:
        return self.verdicts[PASSED] + self.verdicts[FAILED]

    @property
    def share(self) -> float:
        """The share of submissions that failed the claim, from 0 to 1."""
        return self.verdicts[FAILED] / self.judged if self.judged else 0.0


def render(chapter: Chapter, results: list[Graded]) -> str:
    """The page."""
    claims = claims_of(results)
    parts = {
        "title": escaped(f"{chapter.slug}: {chapter.title}"),
        "summary": escaped(summary(results)),
        "students": students(results, claims),
        "bars": bars(results),
        "claims": claims_table(claims),
        "hints": hints_table(results),
        "each": "\n".join(each(number, one) for number, one in enumerate(results)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], TEMPLATE.read_text("utf-8"))


def claims_of(results: list[Graded]) -> list[Claim]:
    """All claims of all results: those that earn points, then the guards."""
    found: dict[str, Claim] = {}
    for test in (test for one in results for test in one.tests):
        data, number = test["extra_data"], test["number"]
        own = test.get("max_score", 1) > 0
        claim = found.setdefault(data["test"], Claim(data["test"], number, test["name"], own))
        claim.verdicts[data["verdict"]] += 1
        if data["verdict"] != NOT_JUDGED:
            claim.seconds.append(data["seconds"])
    return sorted(found.values(), key=lambda claim: not claim.own)


def summary(results: list[Graded]) -> str:
    scores = [one.record.score for one in results if one.record.score is not None]
    said = [counted(len(results), "submission")]
    if scores:
        full = sum(score == 100 for score in scores)
        said += [f"{full} with full marks", f"the median is {statistics.median(scores):g} points"]
    blank = len(results) - len(scores)
    said += [f"{blank} without a score"] if blank else []
    return f"{', '.join(said)}. Made on {time.strftime('%Y-%m-%d at %H:%M')}."


# The big table


def students(results: list[Graded], claims: list[Claim]) -> str:
    first = next((claim for claim in claims if not claim.own), None)
    heads = heads_of("name", "#points")
    for number, claim in enumerate(claims):
        kind = "claim first" if claim is first else "claim"
        link = f'<a href="#c{number}">{escaped(short(claim.name))}</a>'
        heads.append(f'<th scope="col" class="{kind}" title="{escaped(claim.text)}">{link}</th>')
    rows = [f"<tr>{student(*pair, claims, first)}</tr>" for pair in enumerate(results)]
    return table("students", heads, rows)


def student(number: int, one: Graded, claims: list[Claim], first: Claim | None) -> str:
    """The cells of one row."""
    points = "" if one.record.score is None else f"{one.record.score:g}"
    name = escaped(shown(one.name))
    cells = [
        f'<th scope="row" title="{name}"><a href="#s{number}">{name}</a></th>',
        f'<td class="number" data-v="{points}">{points or mark(NOT_JUDGED, "blank")}</td>',
    ]
    verdicts = {test["extra_data"]["test"]: test["extra_data"]["verdict"] for test in one.tests}
    for claim in claims:
        verdict = verdicts.get(claim.name)
        line = " first" if claim is first else ""
        if verdict not in SIGNS:
            cells.append(f'<td class="cell none{line}" data-v="3"><a href="#s{number}">·</a></td>')
            continue
        sign, kind = SIGNS[verdict]
        order = list(SIGNS).index(verdict)
        title = escaped(f"{claim.number} {verdict}: {claim.text}")
        if verdict != PASSED:
            sign = f'<a href="#{anchor(number, claim.name)}">{sign}</a>'
        cells.append(f'<td class="cell {kind}{line}" data-v="{order}" title="{title}">{sign}</td>')
    return "".join(cells)


def short(name: str) -> str:
    """The name of a claim in a column: "01 frame cut at every byte"."""
    return name.removeprefix("test_").replace("_", " ")


def mark(verdict: str, text: str) -> str:
    return f'<span class="label {SIGNS[verdict][1]}">{escaped(text)}</span>'


def anchor(number: int, test: str) -> str:
    return escaped(f"s{number}-{test}")


# Over the whole class


def bars(results: list[Graded]) -> str:
    """How many submissions have 0 to 9 points, 10 to 19, ..., 100, and none."""
    scores = [one.record.score for one in results]
    counts = Counter("blank" if one is None else min(int(one // 10), 10) for one in scores)
    names = {**{low: f"{10 * low}–{10 * low + 9}" for low in range(10)}, 10: "100"}
    names |= {"blank": "blank"} if counts["blank"] else {}
    drawn = [
        f'<div class="{"blank" if key == "blank" else ""}" '
        f'title="{name} points: {counted(counts[key], "submission")}">{counts[key] or ""}'
        f'<i style="height:{round(100 * counts[key] / max(counts.values(), default=1))}px"></i>'
        f"<span>{name}</span></div>"
        for key, name in names.items()
    ]
    return f'<div class="bars">{"".join(drawn)}</div>'


def claims_table(claims: list[Claim]) -> str:
    heads = heads_of("claim", "sentence", "#failed", "#of", "#not judged", "#median s")
    rows = []
    for number, claim in sorted(enumerate(claims), key=lambda pair: -pair[1].share):
        share = f"{100 * claim.share:.0f}"
        middle = statistics.median(claim.seconds or [0])
        rows.append(
            f'<tr id="c{number}"><th scope="row">{escaped(claim.number)}</th>'
            f'<td title="{escaped(claim.name)}">{escaped(claim.text)}</td>'
            f'<td class="number" data-v="{claim.share:.4f}"><div class="share"><b>'
            f'<i style="width:{share}%"></i></b>{share} %</div></td>'
            f"{number_cells(claim.judged, claim.verdicts[NOT_JUDGED] or '', f'{middle:.1f}')}</tr>"
        )
    return table("claims", heads, rows)


def hints_table(results: list[Graded]) -> str:
    people: Counter = Counter()
    failures: Counter = Counter()
    for one in results:
        found = [t["extra_data"]["hint"] for t in one.tests if t["extra_data"]["hint"] in HINTS]
        failures.update(found)
        people.update(set(found))
    rows = [
        f"<tr>{number_cells(count, failures[key])}<td>{escaped(HINTS[key].text)}</td></tr>"
        for key, count in people.most_common(MOST_HINTS)
    ]
    if not rows:
        return '<p class="soft">No hint was printed.</p>'
    heads = heads_of("#students", "#failures", "hint")
    return f'<div class="wide">{table("hints", heads, rows)}</div>'


# Each submission


def each(number: int, one: Graded) -> str:
    """A submission that opens: its files, and the text of each failure."""
    record = one.record
    points = "no score" if record.score is None else f"{record.score:g} points"
    failed = sum(test["extra_data"]["verdict"] == FAILED for test in one.tests)
    said = f"{points}, {counted(failed, 'claim')} failed" if failed else points
    blank = record.verdict == NOT_JUDGED  # "failed" beside 99 points would say nothing
    verdict = mark(record.verdict, record.verdict) if blank else ""
    about = [f"handed in: {record.chosen}"] if record.chosen else []
    about += [f"graded in {record.seconds:g} s"] if record.seconds else []
    about += ["tried twice"] if record.tries > 1 else []
    parts = [f'<p class="files">{files(one)}</p>']
    parts += [f'<p class="soft">{escaped("; ".join(about))}</p>'] if about else []
    parts += [f"<p>{escaped(text)}</p>" for text in (record.problem, record.cap) if text]
    parts += texts(number, one)
    return (
        f'<details id="s{number}"><summary>{escaped(shown(one.name))} {verdict} '
        f'<span class="soft">{escaped(said)}</span></summary>'
        f'<div class="inside">{"".join(parts)}</div></details>'
    )


def files(one: Graded) -> str:
    there = [(name, text) for name, text in FILES if (one.place / name).exists()]
    where = quote(one.place.name, errors="surrogateescape")
    return " ".join(f'<a href="{where}/{name}">{escaped(text)}</a>' for name, text in there)


def texts(number: int, one: Graded) -> list[str]:
    """The text of each test that did not pass, and of a submission that has no tests."""
    tests = [test for test in one.tests if test["extra_data"]["verdict"] != PASSED]
    if not one.tests and one.result:
        tests = one.result.get("tests", [])
    parts, most = [], TEXT_BYTES
    for test in tests:
        data = test.get("extra_data", {})
        text = test.get("output", "")
        if most <= 0:
            parts.append("<p>More is in the file that the student should see.</p>")
            break
        cut = text if len(text) <= most else text[:most] + "\n... (more in the file)"
        most -= len(text)
        place = f' id="{anchor(number, data["test"])}"' if data else ""
        head = "" if data and data["verdict"] == FAILED else f"{test['name']}\n\n"
        parts.append(f"<pre{place}>{escaped(head + cut)}</pre>")
    return parts


# HTML


def table(kind: str, heads: list[str], rows: list[str]) -> str:
    body = "\n".join(rows)
    return (
        f'<table class="{kind}"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table>"
    )


def heads_of(*names: str) -> list[str]:
    """Heads of columns; "#" marks a column of numbers."""
    return [
        f'<th scope="col"{" class=number" * (name[0] == "#")}>{escaped(name.lstrip("#"))}</th>'
        for name in names
    ]


def number_cells(*values: object) -> str:
    return "".join(f'<td class="number">{value}</td>' for value in values)


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def escaped(text: object) -> str:
    return html.escape(str(text).encode("utf-8", "replace").decode())
