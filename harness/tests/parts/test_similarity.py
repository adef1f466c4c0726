"""Which submissions are alike: disguised copies come first, and others are not named."""

from __future__ import annotations

import re

from harness.course.similarity import command as similar, compare
from harness.submission import command_line, skeleton, sources
from harness.submission.chapters import find
from harness.tests import golden, submissions
from harness.tests.tree.documents import Page

CHAPTER = find("01")
KEPT = re.compile(
    r"(?:if|for|while|continue|return|sizeof|int|void|struct|static|const|volatile|[A-Z]\w*|\w+_t)$"
)


def disguised(text: str) -> str:
    """The program with other names, without comments, and with other blanks and line breaks."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    pieces = re.split(r'("(?:\\.|[^"\\])*"|\#[^\n]*\n)', text)
    for at in range(0, len(pieces), 2):
        words = re.sub(r"[A-Za-z_]\w*", renamed, pieces[at])
        pieces[at] = re.sub(r"([;{}(,]) *\n? *", "\\1\n\t", words)
    return "".join(pieces)


def renamed(word: re.Match[str]) -> str:
    return word[0] if KEPT.match(word[0]) else f"int_{word[0][::-1]}"  # which is no type


def test_pieces_go_on_behind_a_change():
    """Lines that differ between two pieces are shown with them, if they are few."""
    lines = [f"a {one} (b {one} c) {one} (d {one} e);" for one in "+-*/%&|^"]
    one, other = ["int x;", *lines], [*lines[:4], "return;", *lines[4:], "int y;"]
    found = compare.pieces({"1.c": "\n".join(one)}, {"2.c": "\n".join(other)}, frozenset())
    assert found == [compare.Piece("1.c", 3, "2.c", 0, 8 * 14)]


def test_a_disguised_copy_comes_first(tmp_path, monkeypatch, capsys):
    """Others are the lab's solution, a skeleton that nobody has touched, and a file that cannot be
    read. Names and lines are no HTML and no good for a terminal."""
    monkeypatch.setattr(command_line, "BUILD", tmp_path / "build")
    theirs, sub = submissions.right('puts("<script>");'), tmp_path / "sub"
    submissions.submission(sub / "ada <b>&amp;", theirs)
    submissions.submission(sub / ("bén \x1b[31m" + "名" * 20), disguised(theirs))
    sources.write(sub / "cleo", skeleton.solution_without_marks(CHAPTER))
    sources.write(sub / "dan", sources.texts(CHAPTER.chapter_dir))
    (sub / "eve.zip").touch()
    assert similar.main(["--chapter", "01", "--submissions", str(sub)]) == 0
    text = (tmp_path / "build" / "similar" / "01" / "similar.html").read_text()
    page = Page(text)
    assert not set(page.tags) & {"script", "img", "link"} and "http" not in text
    body = re.sub(r"<style>.*?</style>|(?<=\n)[^<]*\n(?=.*</pre>)", "...\n", text, flags=re.S)
    golden.check("similar", capsys.readouterr().out + body, tmp_path)
