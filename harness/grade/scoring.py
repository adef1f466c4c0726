"""Claims, their points in a grade, and their results. No I/O but loading the claims."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from harness.claims.marker import FATAL, Mark
from harness.grade.diagnosis import Diagnosis
from harness.submission.chapters import CHAPTERS, ROOT, Chapter, find
from harness.submission.todos import needs as todos_needed
from harness.submission.todos import worths as worths_of_todos

CLAIMS = ROOT / "harness"
ROOMS = ("claims", "modules")  # directories in it that have claims
PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"
BYTES = "bytes-not-frames"  # the key of a hint, see believe()
BASIC = Fraction(1, 2)  # of a TODO's points, for its basic claim
OF_A_GUARD, OF_GUARDS = Fraction(3), Fraction(30)  # points that a broken one costs, and all of them
CAP = Fraction(60)  # points, for a server with a fatal fault
BROKEN = ("memory", "crash")  # faults that are shown first, whatever the points


@dataclass(frozen=True, kw_only=True)
class Claim(Mark):
    """One graded test: what it says of itself, and where it stands. A claim about a module needs
    the lab's command line."""

    chapter: Chapter
    name: str
    text: str
    file: Path

    @property
    def first(self) -> Chapter:
        """The first chapter that it holds for."""
        return find(self.chapters.partition("-")[0]) if self.chapters else self.chapter

    @property
    def last(self) -> Chapter:
        """The last chapter that it holds for."""
        return find(self.chapters.rpartition("-")[2]) if self.chapters else CHAPTERS[-1]

    @property
    def todo(self) -> int:
        return int(self.number.split(".")[1])


@dataclass
class Outcome:
    """The result of one claim. `worth`: the points that it earns; 0 of a guard. `diagnosis`: why it
    has not passed; None before it was run."""

    claim: Claim
    worth: Fraction
    verdict: str = NOT_JUDGED
    diagnosis: Diagnosis | None = None
    seconds: float = 0.0

    @property
    def message(self) -> str:
        """What happened, in a line; "" if that is not known."""
        return self.diagnosis.message if self.diagnosis else ""

    def fail(self, message: str, hint: str = "") -> None:
        self.verdict, self.diagnosis = FAILED, Diagnosis(True, message, hint)

    @property
    def earned(self) -> Fraction:
        return self.worth if self.verdict == PASSED else Fraction(0)

    @property
    def is_guard(self) -> bool:
        return not self.worth and not self.claim.explains

    @property
    def fatal(self) -> str:
        """The fatal fault that it shows, a key of FATAL; "" if it shows none."""
        if self.verdict != FAILED:
            return ""
        return (self.diagnosis and self.diagnosis.fatal) or self.claim.fatal


@dataclass
class Grade:
    """One graded chapter. `subject` says what was graded, `source` where its C files are, if known.

    `selected` is the T= it was restricted to. `problem` is what kept everything from being judged:
    the compiler's message, or what went wrong with the harness.
    """

    chapter: Chapter
    subject: str
    source: Path | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0
    seed: int = 0
    selected: str | None = None
    memcheck: bool = False
    warnings: str = ""
    problem: str = ""
    built: bool = True
    again: str = ""  # the words of `make grade ...` that name this subject
    elsewhere: str = ""  # those of them that say where it is: " DIR=..."
    log: Path | None = None
    in_full: str = ""  # the file that has every failure in full
    left_out: int = 0  # claims about modules that this server has not
    changed: str = ""  # what has changed since the last grade

    @property
    def score(self) -> Fraction:
        """The points: those that are earned, less what broken guards cost, and at most CAP with a
        fatal fault. A part of the claims (T=) has the earned ones only."""
        if self.selected:
            return self.earned
        return min(self.before_the_cap, CAP) if self.fatal else self.before_the_cap

    @property
    def earned(self) -> Fraction:
        return sum((outcome.earned for outcome in self.outcomes), Fraction(0))

    @property
    def before_the_cap(self) -> Fraction:
        return max(self.earned - self.cost_of_guards, Fraction(0))

    @property
    def out_of(self) -> Fraction:
        if not self.outcomes:
            return Fraction(100)
        return sum((outcome.worth for outcome in self.outcomes), Fraction(0))

    @property
    def guards(self) -> list[Outcome]:
        """The claims that earn nothing, and cost something when they break."""
        return [outcome for outcome in self.outcomes if outcome.is_guard]

    @property
    def broken(self) -> list[Outcome]:
        """The guards that cost something."""
        return [o for o in self.guards if o.verdict == FAILED and not self.waits_for(o)]

    def waits_for(self, outcome: Outcome) -> int:
        """The number of the TODO that has to be done before this can pass, 0 if none has."""
        worth = worths_of_todos(self.chapter)
        if outcome.is_guard:
            needed = todos_needed(self.chapter).get(outcome.claim.name, 0)
            undone = (todo for todo in range(needed, 0, -1) if self._is_undone(todo))
            return next(undone, 0)
        later = (todo for todo in worth if todo >= outcome.claim.todo)
        return outcome.claim.todo if all(map(self._is_undone, later)) else 0

    def _is_undone(self, todo: int) -> bool:
        """Returns true if the basic claim of the TODO fails."""
        basic = worths_of_todos(self.chapter)[todo].basic
        return any(o.claim.name == basic and o.verdict == FAILED for o in self.outcomes)

    @property
    def cost_of_a_guard(self) -> Fraction:
        """Points that each broken guard costs."""
        return min(OF_A_GUARD, OF_GUARDS / max(len(self.broken), 1))

    @property
    def cost_of_guards(self) -> Fraction:
        return len(self.broken) * self.cost_of_a_guard

    @property
    def fatal(self) -> Outcome | None:
        """The claim that shows a fatal fault best. What waits for a TODO shows none, unless that
        leaves to chance what the server does."""
        found = [one for one in self.outcomes if one.fatal]
        found = [one for one in found if one.fatal == "memory" or not self.waits_for(one)]
        order = {kind: place for place, kind in enumerate(BROKEN)}
        return min(found, key=lambda one: order.get(one.fatal, len(order)), default=None)

    @property
    def capped(self) -> Outcome | None:
        """The claim with a fatal fault that takes points away."""
        return self.fatal if not self.selected and self.before_the_cap > CAP else None

    @property
    def unjudged(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.verdict == NOT_JUDGED]

    @property
    def verdict(self) -> str:
        """Not judged if any claim is not judged, whatever failed: the score may change."""
        verdicts = {outcome.verdict for outcome in self.outcomes}
        if not self.built:
            return FAILED
        if NOT_JUDGED in verdicts or not verdicts:
            return NOT_JUDGED
        return FAILED if FAILED in verdicts else PASSED

    @property
    def status(self) -> int:
        """The exit status for the verdict."""
        return {PASSED: 0, FAILED: 1, NOT_JUDGED: 2}[self.verdict]


def load(directory: Path = CLAIMS, last: Chapter = CHAPTERS[-1]) -> list[Claim]:
    """All claims of test_NN_*.py in `directory` and its ROOMS up to the chapter `last`, by TODO,
    then as they stand in their files. Later files are not read: a grade in isolation cannot read
    them.
    """
    claims: list[Claim] = []
    for chapter in CHAPTERS:
        if chapter <= last:
            for file in files(directory, chapter):
                claims += _load_file(file, chapter)
    claims.sort(key=lambda claim: (claim.chapter, claim.todo))
    names = [claim.name for claim in claims]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"two claims have the same name: {', '.join(sorted(twice))}"
    return claims


def files(directory: Path, chapter: Chapter) -> list[Path]:
    """The files with the claims of a chapter, by their names."""
    places = [directory.resolve() / room for room in ("", *ROOMS)]
    found = [path for one in places for path in one.glob(f"test_{chapter.number}_*.py")]
    return sorted(found, key=lambda path: path.name)


@functools.lru_cache(maxsize=None)  # for a process that grades more than once
def _load_file(file: Path, chapter: Chapter) -> list[Claim]:
    spec = importlib.util.spec_from_file_location(f"claims_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [
        _claim(function, file, chapter)
        for name, function in vars(module).items()
        if name.startswith("test_") and callable(function)
    ]


def _claim(function, file: Path, chapter: Chapter) -> Claim:
    mark = getattr(function, "claim", None)
    text = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    where, own = f"{file.name}: {function.__name__}", chapter.number
    assert mark, f'{where}: put @claim("{own}.1") above it'
    assert re.fullmatch(own + r"\.\d+", mark.number), f"{where}: its TODO is not of this chapter"
    assert text, f"{where}: give it a docstring, whose first paragraph a grade shows"
    assert mark.fatal in ("", *FATAL), f"{where}: fatal={mark.fatal!r} is none of FATAL"
    told = {"chapter": chapter, "name": function.__name__, "text": text, "file": file}
    return Claim(**{**vars(mark), "cli": mark.cli or mark.module, **told})


def holding(claims: list[Claim], chapter: Chapter) -> list[Claim]:
    """The claims that a grade of `chapter` runs: its own and those it inherits."""
    earlier = [claim for claim in claims if claim.chapter <= chapter]
    return [claim for claim in earlier if claim.first <= chapter <= claim.last]


def worths(claims: list[Claim], chapter: Chapter) -> dict[str, Fraction]:
    """The points that each claim earns, by name, in a grade of `chapter` that runs these claims.

    Together 100. A TODO has the points of todos.json. Its basic claim has half of them, and its
    other claims share the rest. Claims that are left out leave their points to the others. If no
    claim of the chapter itself is run, all others earn the same.
    """
    own = [c for c in claims if c.chapter == chapter and not c.guard and not c.explains]
    if not own:
        alike = [claim.name for claim in claims if not claim.explains]
        return {c.name: Fraction(100 * (c.name in alike), len(alike)) for c in claims}
    todos: dict[int, list[Claim]] = {}
    for claim in own:
        todos.setdefault(claim.todo, []).append(claim)
    of = worths_of_todos(chapter)
    a_point = Fraction(100, sum(of[todo].points for todo in todos))
    found = {claim.name: Fraction(0) for claim in claims}
    for todo, group in todos.items():
        found |= _shared(of[todo].points * a_point, [claim.name for claim in group], of[todo].basic)
    return found


def _shared(points: Fraction, names: list[str], basic: str) -> dict[str, Fraction]:
    """The points of a TODO, by the names of its claims."""
    if basic not in names or len(names) == 1:
        return {name: points / len(names) for name in names}
    rest = points * (1 - BASIC) / (len(names) - 1)
    return {name: points * BASIC if name == basic else rest for name in names}


def believe(outcomes: list[Outcome]) -> None:
    """Claims about frames do not count for a server that only echoes bytes: that its bytes come
    back unchanged proves nothing."""
    first = [o.diagnosis for o in outcomes if o.claim.explains and o.diagnosis]
    if not any(diagnosis.hint == BYTES for diagnosis in first):
        return
    for outcome in outcomes:
        if outcome.verdict == PASSED and re.search(r"\bframes?\b", outcome.claim.text, re.I):
            outcome.fail("the bytes came back, but this server does not know frames", BYTES)


def select(claims: list[Claim], text: str) -> list[Claim]:
    """The claims that `text` means: TODOs ("03.2"), tests' names or parts of names, with commas.

    Empty if a part of `text` means none.
    """
    found = [_select(claims, part.strip()) for part in text.split(",")]
    if not all(found):
        return []
    names = {claim.name for part in found for claim in part}
    return [claim for claim in claims if claim.name in names]


def _select(claims: list[Claim], text: str) -> list[Claim]:
    todo = re.fullmatch(r"(\d{1,2})\.(\d{1,2})", text)
    if todo:
        number = f"{todo[1].zfill(2)}.{int(todo[2])}"
        return [claim for claim in claims if claim.number == number and not claim.explains]
    exact = [claim for claim in claims if claim.name == text]
    return exact or [claim for claim in claims if text.lower() in claim.name.lower()]


def number_text(value: Fraction) -> str:
    """At most one decimal, rounded down: 99.97 of 100 points is not full marks."""
    tenths = int(value * 10)
    whole, rest = divmod(tenths, 10)
    return f"{whole}.{rest}" if rest else str(whole)
