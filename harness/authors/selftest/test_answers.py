"""docs/answers.md has an answer to each question of each handout."""

from __future__ import annotations

import re

import pytest

from harness.lab import chapters

ANSWERS = chapters.ROOT / "docs" / "answers.md"
QUESTIONS = "Predict before you code"

each_chapter = pytest.mark.parametrize(
    "chapter", chapters.CHAPTERS, ids=lambda chapter: chapter.slug
)


def numbers(text: str, heading: str) -> list[int]:
    """The numbers of the list below a heading of the second level."""
    _, _, below = f"\n{text}".partition(f"\n## {heading}\n")
    section = re.split(r"^## ", below, flags=re.M)[0]
    return [int(number) for number in re.findall(r"^(\d+)\. ", section, re.M)]


@each_chapter
def test_each_question_has_its_answer(chapter):
    handout = chapter.chapter_dir / "README.md"
    questions = numbers(handout.read_text(), QUESTIONS)
    answers = numbers(ANSWERS.read_text(), f"Chapter {chapter.number}")
    assert questions, f"chapters/{chapter.slug}/README.md has no list below '## {QUESTIONS}'"
    assert answers == questions, (
        f"chapters/{chapter.slug}/README.md asks the questions {questions}, and docs/answers.md, "
        f"'## Chapter {chapter.number}', answers {answers}: write what is missing"
    )


@each_chapter
def test_answers_stand_in_one_place(chapter):
    text = (chapter.solution_dir / "README.md").read_text()
    where = f"solutions/{chapter.slug}/README.md"
    assert "\n## Answers" not in text, f"{where}: move the answers to docs/answers.md"
