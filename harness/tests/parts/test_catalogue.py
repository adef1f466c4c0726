"""The catalogue of wrong servers is sound, and has one for each claim and each hint."""

from __future__ import annotations

import re

import pytest

from harness.feedback.hints import HINTS
from harness.grade import scoring
from harness.maintain.wrong_servers import catalogue, report
from harness.maintain.wrong_servers.catalogue import CATALOGUE
from harness.maintain.wrong_servers.judge import OTHER_HINT, Judgement
from harness.submission.chapters import find
from harness.tests.drawn import CHANGED

CLAIMS = scoring.load()

# No wrong server of the catalogue can print these hints; the tests that prove them:
PROVED_ELSEWHERE = {
    "cannot-start": "test_process.py",
    "connect-stuck": "test_client.py",
    "over-limit": "test_hostile.py",
    "too-long": "test_grade.py",
}


def test_every_claim_and_every_hint_has_a_wrong_server():
    """A claim that no wrong server is meant for may be one that cannot fail."""
    unused = catalogue.unused(CATALOGUE, CLAIMS)
    assert not unused, f"add one for {unused} to solutions/NN-name/wrong-servers.patch"
    printed = {wrong.hint for wrong in CATALOGUE}
    unproved = sorted(set(HINTS) - printed - set(PROVED_ELSEWHERE))
    assert not unproved, f"no wrong server is meant to print {unproved}: add one, or remove these"
    twice = printed & set(PROVED_ELSEWHERE) | set(PROVED_ELSEWHERE) - set(HINTS)
    assert not twice, f"take {twice} out of PROVED_ELSEWHERE"


def test_a_claim_needs_the_program_of_others_that_it_runs():
    """Where the program is missing, the claim is not judged."""
    for path in scoring.files(scoring.CLAIMS, find("12")):
        for claim in path.read_text().split("\n@claim(")[1:]:
            needed = re.search(r'^.*needs="(redis-\w+)"', claim)
            run = re.search(r'_ours\(.*?, "(.*?)"|_command\(server, "(.*?)"', claim)
            if needed and run:
                assert needed[1] in run.groups(), f"{path}: @claim({claim}"


def test_the_catalogue_is_sound():
    """Each of those that are judged is applied, too; here, those of chapters that have changed."""
    changed = [wrong for wrong in CATALOGUE if wrong.chapter in CHANGED]
    faults = catalogue.faults(CATALOGUE, CLAIMS, diffs=False) + catalogue.faults(changed, CLAIMS)
    assert not faults, "\n".join(["the wrong servers are not sound:", *faults])
    rows = report.table([Judgement(wrong, OTHER_HINT, "x") for wrong in CATALOGUE])
    assert max(map(len, rows.splitlines())) <= report.WIDTH


COMMENT = """\
--- a/io.c
+++ b/io.c
@@ -1 +1,2 @@
 #include "io.h"
+/* Nothing else has changed. */
"""
SOUND = f"""\
# framing

## one
A comment is no mistake.
fails: 01_empty_frames (empty-body)
{COMMENT}
## two
A second one is no mistake, too.
fails: 01_empty_frames (empty-body)
{COMMENT}"""
# A change of a file that is sound, and the fault that it makes.
FAULTS = {
    ("01_empty_frames", "04_replies_are_batched"): "chapter 01 has no test test_04_replies",
    ("empty-body", "no-such-hint"): "there is no hint 'no-such-hint': take a key",
    ("## one", "## two"): "there are two of this name: rename one",
    ("fails: 01", "01"): "its head is not complete: after `## one` write the mistake",
    ('#include "io.h"', '#include "no.h"'): "the diff does not fit: quote lines",
    ("a/io.c", "a/no.c"): "the solution has no no.c: correct the line `--- a/no.c`",
    (' #include "io.h"\n', ""): "solutions/01-blocking/io.c has the lines of a change at",
}


@pytest.mark.full("diffs of wrong servers")
def test_each_diff_fits_one_place():
    assert not catalogue.faults(CATALOGUE, CLAIMS)


def test_a_fault_of_the_catalogue_is_named_with_its_place():
    assert catalogue.faults(catalogue.read(find("01"), SOUND), CLAIMS) == []
    for (old, new), says in FAULTS.items():
        (fault,) = catalogue.faults(
            catalogue.read(find("01"), SOUND.replace(old, new, 1)), CLAIMS
        )
        name = "two" if new == "## two" else "one"
        assert fault.startswith(f"solutions/01-blocking/wrong-servers.patch: {name}: ")
        assert says in fault
