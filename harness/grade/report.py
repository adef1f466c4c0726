"""How a grade looks in the terminal: failures, the table of the chapter, the next step.

Only text is made here; nothing is run and nothing is printed.
"""

from __future__ import annotations

import functools
import re
import shlex
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from harness.claims.marker import FATAL
from harness.feedback.hints import HINTS
from harness.grade import scoring
from harness.grade.diagnosis import Diagnosis
from harness.grade.scoring import CAP, FAILED, NOT_JUDGED, PASSED, Grade, Outcome, number_text
from harness.submission import chapters

SHOWN_IN_FULL = 3  # failures, unless V=1
SHOWN_GUARDS = 6  # that did not pass, unless V=1
STDERR_LINES = 8
WARNING_LINES = 10
WIDEST = 100  # columns, whatever the terminal has
UNDEFINED_WIDTH = 200  # characters of what a sanitizer says
LABEL = 11  # columns of "server", "hint", ... within a failure


@dataclass(frozen=True)
class Look:
    """How to print. `width` in columns."""

    width: int = 80
    colour: bool = False
    verbose: bool = False

    def paint(self, text: str, verdict: str) -> str:
        code = {PASSED: "32", FAILED: "31", NOT_JUDGED: "33"}[verdict]
        return f"\033[{code}m{text}\033[0m" if self.colour else text


PLAIN = Look()


def chapter(grade: Grade, look: Look = PLAIN) -> str:
    """The full report of one graded chapter."""
    blocks = [[*_title(grade), *_warnings(grade)]]
    if not grade.built:
        blocks += [["the server does not compile"], marked(grade.problem)]
    else:
        blocks += [table(grade, look), *failures(grade, look), not_judged(grade, look)]
    blocks.append(summary(grade, look))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _title(grade: Grade) -> list[str]:
    """The chapter and its idea, and below it what was graded if it is not chapters/."""
    kind = "   under valgrind" if grade.memcheck else ""
    lines = [f"{grade.chapter.slug}   {grade.chapter.title}{kind}"]
    if grade.subject != f"chapters/{grade.chapter.slug}":
        lines.append(f"graded: {grade.subject}")
    if grade.left_out:
        lines.append(f"left out: {grade.left_out} claims about modules that are not in it")
    return lines


def _warnings(grade: Grade) -> list[str]:
    lines = marked(grade.warnings.rstrip())
    if not lines:
        return []
    shown = ["", "the compiler warns:", *lines[:WARNING_LINES]]
    more = len(lines) - WARNING_LINES
    return [*shown, f"... and {more} more lines"] if more > 0 else shown


def marked(text: str) -> list[str]:
    """Text that is not ours, marked, so that no line of it looks like one of the report."""
    return [f"| {line}" for line in text.splitlines()]


# Failures


def failures(grade: Grade, look: Look) -> list[list[str]]:
    """The failures in full, the chapter's own ones first: as many as SHOWN_IN_FULL, or all. If most
    have failed, only the one that explains them, and one of the TODO that is next."""
    failed = own_first(grade, FAILED)
    explained = bool(failed) and failed[0].claim.explains and 2 * len(failed) > len(grade.outcomes)
    telling = [failed[0], *_own_todos(grade)[:1]] if explained else failed
    shown = failed if look.verbose else _different(telling)[:SHOWN_IN_FULL]
    blocks = [failure(grade, outcome, look) for outcome in shown]
    if len(failed) > len(shown):
        why = ", perhaps most of them for the first reason" if explained else ""
        rest = f"{len(failed) - len(shown)} more failed{why}"
        where = f"all in full: {grade.in_full}" if grade.in_full else "V=1 shows all in full"
        blocks.append([f"{rest}; {where}"])
    return blocks


def _different(failed: list[Outcome]) -> list[Outcome]:
    """Leaves out those that failed just like an earlier one before their first step."""
    kept: dict[str | None, Outcome] = {}
    for outcome in failed:
        key = outcome.claim.name if outcome.diagnosis.steps else outcome.message
        kept.setdefault(key, outcome)
    return list(kept.values())


def own_first(grade: Grade, verdict: str) -> list[Outcome]:
    """The outcomes with this verdict: first the fatal fault, then the one that explains the others,
    then those that earn points, then guards, at last those that wait for a TODO."""
    found = [outcome for outcome in grade.outcomes if outcome.verdict == verdict]
    first = fatal(grade)
    return sorted(
        found,
        key=lambda o: (
            o is not first,
            not o.claim.explains,
            o.is_guard and 1 + bool(grade.waits_for(o)),
        ),
    )


def fatal(grade: Grade) -> Outcome | None:
    """The claim to be mended before all others: its fatal fault takes points away, or leaves what
    the server does to chance."""
    found = grade.fatal
    return found if found and (grade.capped or found.fatal in scoring.BROKEN) else None


def failure(grade: Grade, outcome: Outcome, look: Look = PLAIN) -> list[str]:
    """One failure in its six parts: claim, conversation, bytes, server, hint, commands.

    If a program of the grader has called a module, it takes the place of the server.
    """
    module = outcome.claim.module
    lines = [*_headline(grade, outcome, look), "", *account(outcome.diagnosis, module, look)]
    return [*lines, *labelled(commands(grade, outcome.claim.name, module))]


def account(found: Diagnosis, module: bool, look: Look = PLAIN) -> list[str]:
    """The parts between: what happened, the bytes, the state of the server, the hint."""
    lines = ["  what happened", *_wrapped(found.message, 5, look.width)]
    if found.steps:
        steps = [_cut(f"  {line}") for line in found.steps.splitlines()]
        lines += ["  steps" if module else "  conversation", *steps]
    lines += _indented(found.compare.splitlines(), 2)
    lines += _labelled("program" if module else "server", found.server, look)
    stderr = found.stderr.splitlines()[-STDERR_LINES:]
    lines += _indented([_cut(f"| {line}", LABEL + 2) for line in stderr], LABEL + 2)
    lines += _labelled("crashed", found.crashed, look)
    hint = HINTS.get(found.hint)
    if hint:
        lines += _labelled("hint", hint.text, look)
        lines += _indented([hint.place], LABEL + 2)
    return lines


def labelled(commands: Iterable[tuple[str, str]]) -> list[str]:
    """The last lines of a failure: commands for it."""
    return [f"  {label:{LABEL}}{command}" for label, command in commands]


def commands(grade: Grade, test: str, module: bool = False) -> list[tuple[str, str]]:
    """The command that runs exactly this test again, and the one that shows it call by call; each
    with its label.

    `module`: there is no server whose calls could be shown; a debugger shows the module's.
    """
    if grade.memcheck:
        return [("again", again(grade, test))]
    words = f"ID={grade.chapter.number}-{test.replace('test_', '', 1)}-{grade.seed}"
    words += grade.elsewhere
    see = f"make replay {words} GDB=1" if module else f"make trace {words}"
    return [("again", f"make replay {words}"), ("see", see)]


def _headline(grade: Grade, outcome: Outcome, look: Look) -> list[str]:
    claim = outcome.claim
    tail = f"{_costs(grade, outcome)}   ({_place(grade, outcome)})"
    start = f"FAILED  {claim.number}  {claim.text}"
    if claim.explains:
        first = "" if grade.selected else "first of all  "
        start, tail = f"FAILED  {first}{claim.text}", "(worth no points)"
    painted = look.paint("FAILED", FAILED)
    if len(start) + 3 + len(tail) <= look.width:
        return [f"{start.replace('FAILED', painted, 1)}   {tail}"]
    rows = textwrap.wrap(start, look.width, subsequent_indent=" " * 15)
    return [rows[0].replace("FAILED", painted, 1), *rows[1:], " " * 15 + tail]


def _costs(grade: Grade, outcome: Outcome) -> str:
    """The points that are missing because of it."""
    if outcome.is_guard and grade.waits_for(outcome):
        return f"a guard, costs nothing before TODO {grade.waits_for(outcome)} is done"
    points = grade.cost_of_a_guard if outcome.is_guard else outcome.worth
    text = f"{number_text(points)} {'point' if points == 1 else 'points'}"
    return f"a guard, costs {text}" if outcome.is_guard else text


def _place(grade: Grade, outcome: Outcome) -> str:
    """Where to look: the TODO and its file, or the chapter that an inherited claim is from."""
    claim = outcome.claim
    if claim.chapter != grade.chapter:
        return f"inherited from {claim.chapter.number}"
    file = todo_file(claim.todo, grade)
    return f"TODO {claim.todo}, {file}" if file else f"TODO {claim.todo}"


def todo_file(number: int, grade: Grade) -> str | None:
    """The name of the file that the TODO is in, as the chapter's handout says; its comment in the
    student's file may be gone. None for a server whose files are not known."""
    if grade.source is None:
        return None
    return todos(grade.chapter).get(number)


@functools.cache
def todos(of: chapters.Chapter) -> dict[int, str]:
    """The file of each TODO, as the headings of the handout name it, such as "### TODO 2: `flush`
    and `advance` in `conn.c`"."""
    handout = of.chapter_dir / "README.md"
    text = handout.read_text() if handout.is_file() else ""
    found = re.findall(r"^### TODO (\d+): .* in `([\w./]+)`$", text, re.M)
    return {int(number): file for number, file in found}


def again(grade: Grade, selection: str) -> str:
    """The command that grades this again."""
    return f"{grade.again} T={shlex.quote(selection)} SEED={grade.seed}"


# The table and the lines below it


def table(grade: Grade, look: Look = PLAIN) -> list[str]:
    """One line for each claim that earns points, and one for all guards; below it those that did
    not pass."""
    earning = [outcome for outcome in grade.outcomes if outcome.worth] or grade.outcomes
    rows = [(o.verdict, _points(o), f"{o.claim.number}  {o.claim.text}") for o in earning]
    if first := fatal(grade):
        why = f"{first.claim.number}  {at_most(grade)}"
        rows.insert(0, (FAILED, "", why))
    guards = grade.guards
    if guards and guards != earning:
        hold = sum(outcome.verdict == PASSED for outcome in guards)
        costs = f"-{number_text(grade.cost_of_guards)}" if grade.broken else ""
        failed = grade.broken
        lost = [o for o in guards if o in failed or o.verdict == NOT_JUDGED]
        wait = len(guards) - hold - len(lost)
        waiting = f", {wait} wait for a TODO" if wait else ""
        rows.append((_worst(lost), costs, f"guards  {hold} of {len(guards)} hold{waiting}"))
        for o in lost if look.verbose else lost[:SHOWN_GUARDS]:
            cost = f"-{number_text(grade.cost_of_a_guard)}" if o.verdict == FAILED else ""
            rows.append((o.verdict, cost, f"{o.claim.number}  {o.claim.text}"))
    return _columns(rows, look)


def _worst(group: list[Outcome]) -> str:
    verdicts = {outcome.verdict for outcome in group}
    return next((v for v in (FAILED, NOT_JUDGED) if v in verdicts), PASSED)


def _columns(rows: list[tuple[str, str, str]], look: Look) -> list[str]:
    """Verdict, points, text, in columns as narrow as possible; long texts are cut."""
    words = {verdict: _word(verdict) for verdict, _, _ in rows}
    word_width = max(map(len, words.values()))
    points_width = max(len(points) for _, points, _ in rows)
    before = 2 + word_width + 2 + points_width + 2
    lines = []
    for verdict, points, text in rows:
        parts = textwrap.wrap(text, look.width - before, subsequent_indent=" " * 6)
        if len(parts) > 1 and not look.verbose:
            parts = [textwrap.wrap(text, look.width - before - 4)[0] + " ..."]
        word = look.paint(f"{words[verdict]:<{word_width}}", verdict)
        lines.append(f"  {word}  {points:>{points_width}}  {parts[0]}")
        lines += _indented(parts[1:], before)
    return lines


def _word(verdict: str) -> str:
    return FAILED.upper() if verdict == FAILED else verdict


def _points(outcome: Outcome) -> str:
    return f"{number_text(outcome.earned)}/{number_text(outcome.worth)}"


def not_judged(grade: Grade, look: Look = PLAIN) -> list[str]:
    """Why claims were not judged: each reason once, with the number of claims."""
    reasons: dict[str, int] = {}
    for outcome in grade.outcomes:
        if outcome.verdict == NOT_JUDGED:
            reason = outcome.message or grade.problem or "it did not finish"
            reasons[reason] = reasons.get(reason, 0) + 1
    lines = [f"not judged ({count}): {reason}" for reason, count in reasons.items()]
    return [row for line in lines for row in _wrapped(line, 2, look.width)]


def summary(grade: Grade, look: Look = PLAIN) -> list[str]:
    """The total, what it consists of, the time, and what to do next."""
    painted = look.paint(_total(grade), grade.verdict)
    lines = [f"  {painted}   ({grade.seconds:.1f} s)"]
    if grade.changed:
        lines.append(f"  since last time: {grade.changed}")
    return [*lines, *_indented(next_step(grade), 2)]


def _total(grade: Grade) -> str:
    if grade.selected and not grade.out_of:
        hold = sum(outcome.verdict == PASSED for outcome in grade.guards)
        return f"{hold} of {len(grade.guards)} guards hold"
    of = f"{number_text(grade.out_of)} points{' selected' if grade.selected else ''}"
    total = f"{number_text(grade.score)} of {of}"
    if grade.broken and grade.earned and not grade.selected:
        total += f": {number_text(grade.earned)} earned"
        total += f", {number_text(grade.cost_of_guards)} lost by broken guards"
    return total


def next_step(grade: Grade) -> list[str]:
    """The next step, in one or two lines."""
    if not grade.built:
        return [f"next: fix the first error, then {grade.again}"]
    failed = own_first(grade, FAILED)
    left = [f"next: {task(grade, failed[0])}"] if failed else []
    if first := fatal(grade):
        left = _mend_first(grade, first)
    if grade.verdict == NOT_JUDGED:
        left += [
            "some claims were not judged: no points, and no failure",
            f"details: {log(grade)}",
        ]
    if left:
        return left
    if grade.selected:
        return [f"next: {grade.again}"]
    if grade.subject != f"chapters/{grade.chapter.slug}":
        return []
    place = chapters.CHAPTERS.index(grade.chapter) + 1
    later = chapters.CHAPTERS[place : place + 1]
    return [
        (
            f"next: chapter {c.number}, chapters/{c.slug}/README.md"
            if c.chapter_dir.exists()
            else f"chapter {c.number} is not in this copy of the lab"
        )
        for c in later
    ]


def next_word(grade: Grade) -> str:
    """What to do next, for a board: "TODO 2 (conn.c)"; "" if nothing is left, or not judged."""
    if not grade.built:
        return "does not compile"
    if first := fatal(grade):
        return f"{first.claim.number} first: at most {number_text(CAP)}"
    failed = own_first(grade, FAILED)
    return task(grade, failed[0]).split(": ")[0] if failed else ""


def at_most(grade: Grade) -> str:
    """The sentence about its fatal fault; "" if none decides."""
    found = fatal(grade)
    return f"at most {number_text(CAP)} while the server {FATAL[found.fatal]}" if found else ""


def _mend_first(grade: Grade, outcome: Outcome) -> list[str]:
    """For a server with a fatal fault. If its behaviour is undefined, what it does elsewhere is
    left to chance."""
    lines = [at_most(grade)]
    if outcome.fatal == "memory":
        what = textwrap.shorten(outcome.message, UNDEFINED_WIDTH, placeholder=" ...")
        lines += [what, "until that is mended the other results can change from run to run"]
    return [*lines, f"next: {again(grade, outcome.claim.name)}"]


def task(grade: Grade, outcome: Outcome) -> str:
    """The TODO to do next; or, of an inherited claim, the test to look at."""
    claim = outcome.claim
    own = _own_todos(grade)
    if not own and claim.chapter != grade.chapter:
        could = f"what the server of chapter {claim.chapter.number} could do"
        return f"{could}: {again(grade, claim.name)}"
    first = own[0].claim if own else claim
    file = todo_file(first.todo, grade)
    name = f"TODO {first.todo}{f' ({file})' if file else ''}"
    return f"{name}: {grade.again} T={first.name if first.explains else first.number}"


def _own_todos(grade: Grade) -> list[Outcome]:
    """The failures of the chapter's own TODOs, those of the first one first. The claim that
    explains others is about no single TODO."""
    failed = [outcome for outcome in grade.outcomes if outcome.verdict == FAILED]
    own = [o for o in failed if o.claim.chapter == grade.chapter and not o.claim.explains]
    return sorted(own, key=lambda o: (o.is_guard, o.claim.todo))


def log(grade: Grade) -> str:
    """The file with what pytest said."""
    return str(grade.log) if grade.log else "see the log"


# Text


def _labelled(label: str, text: str, look: Look) -> list[str]:
    if not text:
        return []
    rows = _wrapped(text, LABEL + 2, look.width)
    return [f"  {label:{LABEL}}{rows[0].lstrip()}", *rows[1:]]


def _wrapped(text: str, indent: int, width: int) -> list[str]:
    """Each line of the text wrapped by itself; leading spaces are kept."""
    rows = []
    for line in text.splitlines() or [""]:
        rows += textwrap.wrap(line, width - indent, break_long_words=False) or [""]
    return _indented(rows, indent)


def _indented(lines: Iterable[str], indent: int) -> list[str]:
    return [" " * indent + line for line in lines]


def _cut(line: str, before: int = 0) -> str:
    """At most WIDEST columns together with the `before` columns on its left; no control
    characters."""
    clean = "".join(char if char.isprintable() else "." for char in line)
    room = WIDEST - before
    return clean if len(clean) <= room else clean[: room - 3] + "..."
