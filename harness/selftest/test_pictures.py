"""The pictures of the handouts: there, up to date, and about the code that there is."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from harness.lab import chapters
from harness.pictures import __main__ as pictures

SVGS = sorted(pictures.DIRECTORY.glob("*.svg"))
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
COLOUR = re.compile(r'(?:fill|stroke)="([^"]*)"( fill-opacity)?')
NAME = re.compile(r"[A-Za-z]\w*_\w+|\b\w+(?=\(\))")  # conn_read, POLL_STOP, reader_i32, poll()
CLIENTS_OWN = {"recv"}  # what a client calls, and no server

each_picture = pytest.mark.parametrize("svg", SVGS, ids=lambda path: path.name)
each_chapter = pytest.mark.parametrize("chapter", chapters.CHAPTERS, ids=lambda c: c.slug)


def chapter_of(svg):
    return chapters.find(svg.name[:2])


def images(chapter):
    """The pictures that a handout shows, each with its alt text."""
    handout = chapter.chapter_dir / "README.md"
    found = IMAGE.findall(handout.read_text())
    return {(handout.parent / path).resolve(): " ".join(alt.split()) for alt, path in found}


@each_chapter
def test_every_chapter_has_a_picture(chapter):
    name = f"docs/pictures/{chapter.number}-name"
    there = any(svg.name.startswith(f"{chapter.number}-") for svg in SVGS)
    assert there, f"there is no {name}.svg: add {name}.dot if it is missing, and `make pictures`"


def test_pictures_and_sources_belong_together():
    drawn, sources = {svg.stem for svg in SVGS}, {dot.stem for dot in pictures.sources()}
    assert drawn == sources, f"`make pictures` draws {sources - drawn}; remove {drawn - sources}"


@each_picture
def test_it_was_drawn_from_its_source(svg):
    source = svg.with_suffix(".dot")
    mark = f"<!-- from {source.name}, {pictures.digest(source)} -->\n"
    assert svg.read_text().startswith(mark), "draw it again: make pictures"


@each_picture
def test_the_handout_shows_it_and_says_what_is_in_it(svg):
    said = images(chapter_of(svg)).get(svg, "")
    handout = f"chapters/{chapter_of(svg).slug}/README.md"
    where = f"![what is in it, in a sentence or two](../../docs/pictures/{svg.name})"
    assert len(said) > 40, f"{handout} has to show it: {where}"


@each_chapter
def test_the_handout_shows_nothing_else(chapter):
    assert all(chapter_of(svg) == chapter and svg in SVGS for svg in images(chapter))


@each_picture
def test_it_can_be_read_on_a_light_page_and_on_a_dark_one(svg):
    text = svg.read_text()
    light, dark = text.split("prefers-color-scheme: dark")
    for variable in ("--ink:", "--grid:"):
        assert variable in light and variable in dark
    for colour, behind in COLOUR.findall(text):
        tint = colour.startswith("#") and behind == " fill-opacity"
        assert tint or colour in ("none", "transparent", "var(--ink)", "var(--grid)")


@each_picture
def test_the_names_in_it_are_those_of_the_code(svg):
    code = "".join(path.read_text() for path in chapter_of(svg).chapter_dir.glob("*.[ch]"))
    texts = ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")
    names = {name for text in texts for name in NAME.findall(text.text or "")}
    assert not {name for name in names - CLIENTS_OWN if not re.search(rf"\b{name}\b", code)}


def test_without_graphviz_it_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pictures.main() == 2
    said = capsys.readouterr().err
    assert said == "pictures: dot is not installed: make setup BENCH=1 installs Graphviz\n"
