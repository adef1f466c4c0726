"""The object of build/results/NN.json, as the formats need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.failures.printable import harmless

PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"


class NoScore(Exception):
    """Some claims were not judged, so there is no score to export."""


class NoResult(Exception):
    """The object is not the result of a grade."""


@dataclass(frozen=True)
class Claim:
    """One test of a grade. Points are in hundredths. Texts have no control characters."""

    text: str
    number: str
    name: str
    verdict: str
    points: int
    worth: int
    output: str
    hint: str
    crashed: str
    seconds: float

    @property
    def message(self) -> str:
        """What happened, in one line; "" if it passed."""
        return what_happened(self.output)


@dataclass(frozen=True)
class Result:
    """A grade. Points are in hundredths; `worth` is what all claims together could give."""

    chapter: str
    verdict: str
    points: int
    worth: int
    output: str
    seconds: float
    claims: tuple[Claim, ...]

    @property
    def share(self) -> float:
        """The points as a part of all: from 0 to 1."""
        return self.points / self.worth if self.worth else 0.0

    def judged(self) -> Result:
        """Returns the result. Raises NoScore if a claim was not judged: its points are unknown, and
        not 0."""
        if self.verdict == NOT_JUDGED:
            count = sum(claim.verdict == NOT_JUDGED for claim in self.claims)
            what = f"{count} claims were not judged" if count > 1 else "a claim was not judged"
            raise NoScore(f"{what}, so there is no score: grade it again")
        return self


def read(result: object) -> Result:
    """The grade in this object, as json.load() returns it. Raises NoResult."""
    try:
        return _read(result)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise NoResult("it is not the result of a grade") from None


def _read(result: Mapping[str, Any]) -> Result:
    claims = tuple(map(_claim, result["tests"]))
    extra = result["extra_data"]
    return Result(
        harmless(extra["chapter"]),
        _verdict(extra["verdict"]),
        hundredths(result["score"]),
        sum(claim.worth for claim in claims) or 10_000,
        harmless(result["output"]),
        float(result["execution_time"]),
        claims,
    )


def _claim(test: Mapping[str, Any]) -> Claim:
    extra = test.get("extra_data", {})
    return Claim(
        harmless(test["name"]),
        harmless(test.get("number", "")),
        harmless(extra.get("test", "compiles")),
        _verdict(extra.get("verdict") or test["status"]),
        hundredths(test["score"]),
        hundredths(test["max_score"]),
        harmless(test["output"]),
        harmless(extra.get("hint", "")),
        harmless(extra.get("crashed", "")),
        float(extra.get("seconds", 0)),
    )


def _verdict(text: str) -> str:
    if text not in (PASSED, FAILED, NOT_JUDGED):
        raise ValueError(text)
    return text


def hundredths(points: float) -> int:
    """Points in hundredths, which a sum keeps exact."""
    return round(points * 100)


def number(points: int) -> float | int:
    """Hundredths as points, without decimals where there are none."""
    return points // 100 if points % 100 == 0 else points / 100


def what_happened(output: str) -> str:
    """The message within the text of a failure: the indented lines below its title."""
    lines = output.splitlines()
    if "  what happened" not in lines:
        return " ".join(output.split()).replace("not judged: ", "", 1)
    rows = []
    for line in lines[lines.index("  what happened") + 1 :]:
        if not line.startswith("     "):
            break
        rows.append(line.strip())
    return " ".join(rows)
