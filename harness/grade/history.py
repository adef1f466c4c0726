"""In which state of the student's files each test last passed, and which have failed since, from
one grade to the next."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from harness.grade.scoring import FAILED, PASSED, Grade
from harness.submission import files, sources
from harness.submission.chapters import Chapter

NAME = "{}-passed.json"  # of the file of a chapter
MOST_NAMES = 4  # of changed files that are named

State = dict[str, str]  # the digest of each file, by its name


def compare(grade: Grade, file: Path) -> None:
    """Adds to each failure whether the test has passed before, and which files have changed since;
    and to the grade, what is known of all tests. Then stores that in `file`. Does nothing if the
    student's files are not known."""
    if grade.source is None:
        return
    now = state(grade.source)
    passed, failed = _load(file, grade.source)
    for outcome in grade.outcomes:
        name = outcome.claim.name
        if outcome.verdict == PASSED:
            passed[name] = now
            failed.discard(name)
        elif outcome.verdict == FAILED:
            failed.add(name)
            if name in passed:
                before = f"passed; {_changes(passed[name], now)}"
                outcome.diagnosis = replace(outcome.diagnosis, before=before)
    grade.once_passed, grade.last_failed = frozenset(passed), frozenset(failed)
    _save(file, grade.source, passed, failed)


def passed_as_it_is(file: Path, chapter: Chapter) -> bool:
    """Whether a test of the chapter has passed with the student's files as they are now."""
    source = chapter.chapter_dir
    return state(source) in _load(file, source)[0].values()


def state(source: Path) -> State:
    """The state of the C files in a directory."""
    return {
        sources.name_of(path, source): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in sources.files(source)
    }


def _changes(before: State, now: State) -> str:
    """ "changed since: conn.c, server.c" """
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if not names:
        return "no file has changed since"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"changed since: {', '.join(names[:MOST_NAMES])}{more}"


def _load(file: Path, source: Path) -> tuple[dict[str, State], set[str]]:
    """The state in which each test last passed, and the tests that have failed since. Empty if the
    file is of another directory, does not exist, or cannot be read: it is only a help."""
    try:
        found = json.loads(file.read_text())
        if found["source"] != str(source.resolve()):
            return {}, set()
        states = found["states"]
        passed = {name: states[number] for name, number in found["passed"].items()}
        return passed, set(found.get("failed", ()))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return {}, set()


def _save(file: Path, source: Path, passed: dict[str, State], failed: set[str]) -> None:
    """Saves each state once."""
    states: list[State] = []
    for found in passed.values():
        if found not in states:
            states.append(found)
    numbers = {name: states.index(found) for name, found in passed.items()}
    told = {"source": str(source.resolve()), "states": states, "passed": numbers}
    files.write(file, f"{json.dumps({**told, 'failed': sorted(failed)})}\n".encode())
