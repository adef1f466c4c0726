"""Each wrong server of solutions/*/wrong-servers.patch is failed by the claim that is meant for it, with
the hint that is meant. Without FULL=1 some of them are judged, see drawn.wrong_servers()."""

from __future__ import annotations

import dataclasses

import pytest

from harness.maintain.wrong_servers.catalogue import CATALOGUE
from harness.maintain.wrong_servers.judge import (
    BROKEN,
    KILLED,
    OTHER_HINT,
    SURVIVED,
    Judgement,
    judge,
)
from harness.tests import drawn, golden

SAMPLE = next(wrong for wrong in CATALOGUE if wrong.id == "01-big-endian-reply")


def changed(**fields):
    """The sample with other fields."""
    return dataclasses.replace(SAMPLE, **fields)


def parameters():
    """All of them; the servers of the last chapter first, as these take longest to build."""
    now = drawn.wrong_servers(CATALOGUE)
    for wrong in reversed(CATALOGUE):
        marks = [] if wrong.id in now else [pytest.mark.full("wrong servers")]
        yield pytest.param(wrong, id=wrong.id, marks=marks)


@pytest.mark.parametrize("wrong", parameters())
def test_wrong_server_is_caught(wrong, grader, tmp_path):
    judgement = judge(wrong, tmp_path, grader)
    assert judgement.verdict == KILLED, f"{wrong.test}: {judgement.verdict}: {judgement.hint}"
    if (golden.DIRECTORY / "failures" / f"{wrong.id}.txt").exists():
        golden.check(f"failures/{wrong.id}", golden.of_failure(judgement.text))


# The check can fail

COMMENT = """\
--- a/io.c
+++ b/io.c
@@ -1 +1,2 @@
 #include "io.h"
+/* Nothing else has changed. */
"""


def test_a_right_server_survives(grader, tmp_path):
    right = changed(diff=COMMENT)
    assert judge(right, tmp_path, grader) == Judgement(right, SURVIVED)


def test_another_hint_is_not_the_one(grader, tmp_path):
    judgement = judge(changed(hint="sigpipe"), tmp_path, grader)
    assert (judgement.verdict, judgement.hint) == (OTHER_HINT, SAMPLE.hint)


def test_what_does_not_compile_is_not_caught(grader, tmp_path):
    diff = '--- a/frame.c\n+++ b/frame.c\n@@ -1 +0,0 @@\n-#include "frame.h"\n'
    judgement = judge(changed(diff=diff), tmp_path, grader)
    assert judgement.verdict == BROKEN
    assert "frame.c" in judgement.hint
