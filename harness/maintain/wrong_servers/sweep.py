"""Judges the changes that rules.py makes in what students write: which of them does no claim see?

    make wrong-servers RULES=1 CH=07          those of a chapter, or of all; survivors are printed
    make wrong-servers RULES=1 T=sift_down    those with that in the name of their region, judged again
    make wrong-servers RULES=1 CH=07 FULL=1   survivors are tried by the inherited claims, too
    make wrong-servers RULES=1 N=20 SEED=2    20 of each chapter, drawn by chance

Each is made in the solution of the chapter whose TODO it is in, and is killed by the first claim
that fails. The claims of its TODO are asked first: those that only a later one or an earlier one
kills are printed, too. What became of it is kept in build/rules/NN.jsonl, and a sweep that was
stopped goes on from there. A claim that has changed is not noticed: name regions with T, or remove
the file.

A survivor is a question: can nobody see the change, or is a claim missing? docs/sweep.md has the
answers.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.grade import scoring
from harness.grade.scoring import FAILED, PASSED
from harness.maintain.wrong_servers.candidates import Candidate, candidates, unchanged
from harness.maintain.wrong_servers.grader import Grader, Graders
from harness.maintain.wrong_servers.judge import ENVIRONMENT, until_lost
from harness.server import build
from harness.submission import chapters
from harness.submission.chapters import Chapter
from harness.submission.target import WrongUsage, setting

DIRECTORY = chapters.ROOT / "build" / "rules"
AT_ONCE = 2
LIMIT_SECONDS = 300  # of a grade; then what is left of it is not judged

REFUSED, SAME = "refused by the compiler", "same program"
KILLED, SURVIVED, UNJUDGED = "killed", "survived", "not judged"
VERDICTS = (REFUSED, SAME, KILLED, SURVIVED, UNJUDGED)


@dataclass(frozen=True)
class Found:
    """What became of a candidate, by its key.

    `by`: the claim that killed it, with `hint`; or the candidate that makes the same program, ""
    for the solution; or why it was not judged. `full`: the inherited claims were asked, too.
    """

    key: str
    verdict: str
    by: str = ""
    hint: str = ""
    full: bool = False


class Kept:
    """What was found in a chapter: a file with a JSON object a line. Of two, the later one
    counts."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self._found = {one.key: one for one in (Found(**json.loads(line)) for line in lines)}

    def find(self, key: str) -> Found | None:
        return self._found.get(key)

    def add(self, found: Found) -> None:
        self._found[found.key] = found
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as file:
            print(json.dumps(asdict(found)), file=file)


def run() -> int:
    """Sweeps what CH, T and FULL say. Returns the exit status: 1 if anything survives, else 0."""
    chosen = [chapters.find(setting("CH"))] if setting("CH") else chapters.CHAPTERS
    full, text = setting("FULL") not in (None, "0"), setting("T") or ""
    found = {chapter: drawn(those) for chapter in chosen if (those := candidates(chapter, text))}
    if not found:
        raise WrongUsage(f"T={text}: no TODO that was asked for has a region of this name")
    todo_of = {claim.name: claim.number for claim in scoring.load()}
    survivors = 0
    with Graders(AT_ONCE, ENVIRONMENT) as graders:
        for chapter, those in found.items():
            kept = Kept(DIRECTORY / f"{chapter.number}.jsonl")
            sweep(those, kept, graders, full, again=bool(text))
            results = [(one, kept.find(one.key)) for one in those]
            print(*report(chapter, results, todo_of), sep="\n", flush=True)
            survivors += sum(result.verdict == SURVIVED for _, result in results)
    return 1 if survivors else 0


def drawn(those: list[Candidate]) -> list[Candidate]:
    """N of them, by SEED, in their order; all of them without N. Raises WrongUsage."""
    wanted = setting("N") or str(len(those))
    if not wanted.isdecimal():
        raise WrongUsage(f"N={wanted} is not a number")
    places = range(len(those))
    chance = random.Random(setting("SEED") or "")
    return [those[at] for at in sorted(chance.sample(places, min(int(wanted), len(those))))]


def sweep(
    those: list[Candidate], kept: Kept, graders: Graders, full: bool, again: bool = False
) -> None:
    """Judges what is not judged yet, or all of them `again`, and keeps what is found."""
    left = [one for one in those if again or not is_done(kept.find(one.key), full)]
    new = [one for one in left if again or kept.find(one.key) is None]
    refused, same = unchanged(new, AT_ONCE)
    for key in refused:
        kept.add(Found(key, REFUSED))
    for key, other in same.items():
        kept.add(Found(key, SAME, other))

    def one(candidate: Candidate) -> None:
        with graders.one() as grader:
            kept.add(judge(candidate, grader, full))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, (one for one in left if one.key not in refused | same.keys())))


def is_done(found: Found | None, full: bool) -> bool:
    """Whether nothing more is to be asked. `full`: the inherited claims are asked about a survivor,
    too."""
    if found is None or found.verdict == UNJUDGED:
        return False
    return found.verdict != SURVIVED or found.full or not full


def judge(candidate: Candidate, grader: Grader, full: bool) -> Found:
    """Asks the claims of its TODO, then the others of its chapter, then (`full`) the inherited
    ones, until one fails. The sources of a survivor are left in DIRECTORY."""
    source = DIRECTORY / candidate.key
    candidate.write(source)
    found = Found(candidate.key, SURVIVED, full=full)
    for names in _rounds(candidate, full):
        found = _asked(candidate, source, names, grader) or found
        if found.verdict != SURVIVED:
            break
    for built in build.CACHE.glob(f"{candidate.key}-*"):
        shutil.rmtree(built)
    if found.verdict == KILLED:
        shutil.rmtree(source)
    return found


def _rounds(candidate: Candidate, full: bool) -> list[list[str]]:
    """The names of the claims that are asked together, in turn."""
    chapter = candidate.chapter
    claims = scoring.holding(scoring.load(), chapter)
    own = [claim for claim in claims if claim.chapter == chapter]
    parts = [
        [claim for claim in own if claim.todo == candidate.todo],
        [claim for claim in own if claim.todo != candidate.todo],
        [claim for claim in claims if claim.chapter != chapter and full],
    ]
    return [[claim.name for claim in part] for part in parts if part]


def _asked(candidate: Candidate, source: Path, names: list[str], grader: Grader) -> Found | None:
    """What these claims find; None if all of them pass."""
    graded = until_lost(candidate.chapter, source, names, grader, LIMIT_SECONDS)
    if graded.stderr or graded.results is None:
        return Found(candidate.key, UNJUDGED, graded.stderr)
    tests = graded.results["tests"]
    for test in tests:
        if test.get("status") == FAILED:
            more = test.get("extra_data", {})
            return Found(candidate.key, KILLED, more.get("test", ""), more.get("hint", ""))
    if len(tests) == len(names) and all(test.get("status") == PASSED for test in tests):
        return None
    return Found(candidate.key, UNJUDGED, graded.results["output"])


def report(
    chapter: Chapter, results: list[tuple[Candidate, Found]], todo_of: Mapping[str, str]
) -> list[str]:
    """How many have become what; each that the claims of its TODO did not kill, as a diff.

    `todo_of`: the TODO of each claim ("06.4"), by the name of the claim.
    """
    counts = Counter(found.verdict for _, found in results)
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    lines = [f"{chapter.number}  {len(results)} changes: {', '.join(parts)}"]
    elsewhere = 0
    for candidate, found in results:
        own = f"{chapter.number}.{candidate.todo}"
        if found.verdict == KILLED and todo_of.get(found.by) != own:
            elsewhere += 1
            lines += ["", candidate.diff(), f"    {own}, killed by {found.by}"]
        if found.verdict in (SURVIVED, UNJUDGED):
            lines += ["", candidate.diff()]
            lines += [f"    not judged: {found.by}"] if found.verdict == UNJUDGED else []
    if counts[KILLED]:
        lines[0] += f"; {counts[KILLED] - elsewhere} by the claims of their TODO"
    return lines
