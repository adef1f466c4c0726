"""Which part of the lab is for whom: what a student gets, what a grade reads, what decides it.

NOT_HANDED_OUT names what is left out, so each other file is handed out. The other lists name what
is allowed: a file that somebody adds to the lab stays invisible to a server until it is named here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from harness.submission import sources
from harness.submission.chapters import ROOT, Chapter

NOTE = "HANDOUT.md"
# What a student does not get, and why. A name that ends with a slash is a directory.
NOT_HANDED_OUT = {
    "solutions/": "the solved chapters",
    "docs/answers.md": "the answers to the questions of the handouts",
    "docs/sweep.md": "mistakes that no test finds",
    "docs/working-on-the-lab.md": "how to change the lab, with pieces of solutions",
    "harness/maintain/": "wrong servers, and what draws and checks",
    "harness/tests/": "the lab's own tests, with right and hostile servers",
    ".ci/": "what runs the lab's own tests",
    NOTE: "written again for each handout",
}

# What a grade reads of harness/, and why. None of it has a line that students write.
GRADE = {
    "__init__.py": "makes harness/ a package",
    "__main__.py": "starts the command that grades",
    "lab": "which chapters there are",
    "failures": "what a failure shows, and its hints",
    "server": "builds, starts, observes and confines the server",
    "client": "the clients of the claims",
    "grading": "loads and runs the claims, and reports",
}
# Of this, only what belongs to the chapter and to earlier ones: claims are inherited.
OF_CHAPTERS = {"claims": "the graded claims, and programs that call modules of the submission"}
# What `make class` reads besides, for the timeline of a failure.
TRACE = {
    "student/__init__.py": "makes it a package",
    "student/replay.py": "runs the failed claim again",
    "student/trace": "draws the timeline",
}
HANDOUT = "README.md"  # of chapters/NN-name: says in which file a TODO is
_NUMBERED = re.compile(r"(?:test_)?(\d\d)_")


def is_handed_out(name: str) -> bool:
    """Whether a student gets this file, named as from the lab's directory."""
    return not any(
        name.startswith(one) if one[-1] == "/" else name == one for one in NOT_HANDED_OUT
    )


def of_a_grade(lab: Path, chapter: Chapter) -> list[Path]:
    """The files and directories of the lab that a grade of this chapter reads. Of the chapter these
    are the handout, and the C files that students begin with: they tell a fault of the lab from one
    of the submission."""
    harness, own = lab / "harness", lab / "chapters" / chapter.slug
    found = [harness / name for name in GRADE]
    for name in OF_CHAPTERS:
        found += [path for path in _files(harness / name) if not _is_later(path.name, chapter)]
    found += [own / HANDOUT, *sources.files(own)]
    return [path for path in found if path.exists()]


def of_a_timeline(lab: Path, chapter: Chapter) -> list[Path]:
    """The files that a grade of this chapter reads, and those that the timeline of a failure
    reads."""
    more = [lab / "harness" / name for name in TRACE]
    return [*of_a_grade(lab, chapter), *(path for path in more if path.exists())]


def deciding() -> list[Path]:
    """The files whose code decides a grade: a change of one of them may change each result."""
    tops = [ROOT / "harness" / name for name in (*GRADE, *OF_CHAPTERS)]
    found = {path for top in tops for path in (top, *_files(top)) if path.is_file()}
    return [ROOT / "Makefile", *sorted(found)]


def _files(directory: Path) -> Iterator[Path]:
    found = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return (path for path in found if "__pycache__" not in path.parts)


def _is_later(name: str, chapter: Chapter) -> bool:
    """Whether the file belongs to a later chapter, as its name says."""
    numbered = _NUMBERED.match(name)
    return numbered is not None and numbered[1] > chapter.number
