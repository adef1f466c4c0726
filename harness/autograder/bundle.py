"""The zip that is uploaded to Gradescope.

Its top has the two programs that Gradescope calls:
https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.handover import handout
from harness.handover.archive import Member
from harness.lab import sources
from harness.lab.chapters import ROOT, Chapter

HERE = Path(__file__).parent
# What a grade reads. Wrong servers quote the solutions, and so do some of the lab's own tests.
TAKEN = ("LICENSE", "harness")
LEFT_OUT = {"mutants", "selftest", "__pycache__"}


def members(chapter: Chapter) -> list[Member]:
    """The files of the zip for this chapter."""
    return [
        Member("setup.sh", (HERE / "setup.sh").read_bytes(), program=True),
        Member("run_autograder", (HERE / "run_autograder.py").read_bytes(), program=True),
        Member("chapter", f"{chapter.slug}\n".encode()),
        *(
            Member(f"lab/{path.relative_to(ROOT).as_posix()}", path.read_bytes())
            for path in files(chapter)
        ),
    ]


def files(chapter: Chapter) -> Iterator[Path]:
    """The files of the lab that a grade needs: no solution and no answer. Of the chapter it needs
    what students begin with, to find out whose fault a failed build is. Raises WrongUsage if git
    does not say which files are the lab's."""
    given = set(sources.files(chapter.chapter_dir))
    for name in sorted(handout.names()):
        parts, path = Path(name).parts, ROOT / name
        if path in given or (parts[0] in TAKEN and not LEFT_OUT & set(parts)):
            yield path
