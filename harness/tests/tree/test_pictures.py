"""The pictures of the handouts: there, up to date, and about the code of today."""

from __future__ import annotations

import json
import os
import re
from xml.etree import ElementTree

import pytest

from harness.authors.pictures import command as pictures
from harness.authors.pictures import states, timeline
from harness.tests.tree.documents import IMAGE
from harness.tests.shell import script
ELSEWHERE = ()
from harness.lab import chapters, sources
from harness.student.bench import plot
from harness.student.trace.page import SCRIPT, TEMPLATE

SVGS = sorted(pictures.DIRECTORY.glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
TINT = re.compile(r"#[0-9a-f]{8}\b")
COLOUR = re.compile(r'(?:fill|stroke)="([^"]*)"( fill-opacity)?')
NAME = re.compile(r"[A-Za-z]\w*_\w+|\b\w+(?=\(\))")  # conn_read, POLL_STOP, reader_i32, poll()
CLIENTS_OWN = {"recv", "connect"}  # what a client calls, and no server
STATES = {"FIN_WAIT", "TIME_WAIT", "CLOSE_WAIT", "LAST_ACK"}  # of TCP
PAGES = {"tcp-life.svg": "docs/before-you-start.md"}  # what is shown by no handout, but by a page

each_picture = pytest.mark.parametrize("svg", SVGS, ids=lambda path: path.name)
each_chapter = pytest.mark.parametrize("chapter", chapters.CHAPTERS, ids=lambda c: c.slug)


def chapter_of(svg):
    """The chapter of a picture; the first one if a page shows it."""
    return chapters.find("01" if svg.name in PAGES else svg.name[:2])


def page_of(svg):
    """The document that has to show it."""
    return chapters.ROOT / PAGES.get(svg.name, f"chapters/{chapter_of(svg).slug}/README.md")


def images(document):
    """The pictures that a document shows, each with its alt text."""
    found = IMAGE.findall(document.read_text())
    return {(document.parent / path).resolve(): " ".join(alt.split()) for alt, path in found}


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
def test_a_document_shows_it_and_says_what_is_in_it(svg):
    page = page_of(svg)
    where = f"![what is in it, in a sentence or two]({os.path.relpath(svg, page.parent)})"
    said = images(page).get(svg, "")
    assert len(said) > 40, f"{page.relative_to(chapters.ROOT)} has to show it: {where}"


@each_chapter
def test_the_handout_shows_nothing_else(chapter):
    handout = chapter.chapter_dir / "README.md"
    assert all(svg in SVGS and page_of(svg) == handout for svg in images(handout))


@each_picture
def test_it_can_be_read_on_a_light_page_and_on_a_dark_one(svg):
    text = svg.read_text()
    light, dark = text.split("prefers-color-scheme: dark")
    for variable in ("--ink:", "--grid:"):
        assert variable in light and variable in dark
    for colour, behind in COLOUR.findall(text):
        tint = colour.startswith("#") and behind == " fill-opacity"
        assert tint or colour in ("none", "transparent", plot.INK, plot.GRID)
    for colour in (plot.INK, plot.GRID):
        assert f'[stroke="{colour}"] {{ stroke: var(--' in text


@each_picture
def test_a_legend_says_what_its_colours_mean(svg):
    source = svg.with_suffix(".dot").read_text()
    said = {colour + alpha: words for colour, alpha, words in pictures.LEGEND.findall(source)}
    code = pictures.LEGEND.sub("", source)
    for colour in sorted(set(TINT.findall(code)) | set(said)):
        line = f"// legend: {colour} what it means"
        assert colour in code and colour in said, f"{svg.stem}.dot: add or remove {line}"
    texts = {text.text for text in ElementTree.parse(svg).iter(f"{SVG}text")}
    assert set(said.values()) <= texts


@each_picture
def test_the_legend_fits_below_it(svg):
    root = ElementTree.parse(svg).getroot()
    _, _, width, height = map(float, root.get("viewBox").split())
    for legend in root.iter(f"{SVG}g"):
        if legend.get("class") == "legend":
            for text in legend.iter(f"{SVG}text"):
                right = float(text.get("x")) + pictures.LETTER * len(text.text)
                assert right <= width and float(text.get("y")) < height


@each_picture
def test_the_names_in_it_are_those_of_the_code(svg):
    code = "".join(sources.texts(chapter_of(svg).chapter_dir).values())
    texts = ElementTree.parse(svg).iter(f"{SVG}text")
    names = {name for text in texts for name in NAME.findall(text.text or "")}
    names -= CLIENTS_OWN | STATES | ELSEWHERE.keys()
    assert not {name for name in names if not re.search(rf"\b{name}\b", code)}


TIMELINES = sorted((chapters.ROOT / "docs" / "timelines").glob("*.svg"))


def test_the_readme_shows_a_timeline_of_a_failure():
    said = images(chapters.ROOT / "README.md")
    assert set(said) == {chapters.ROOT / "docs/timelines/one-read.svg"}
    assert all(len(alt) > 40 for alt in said.values())


@pytest.mark.parametrize("svg", TIMELINES, ids=lambda path: path.stem)
def test_a_handout_has_a_place_for_each_timeline(svg):
    """The site shows it there; and what it shows was taken from one page."""
    handouts = [one.chapter_dir / "README.md" for one in chapters.CHAPTERS]
    place = f"<!-- timeline {svg.stem} -->"
    assert any(place in handout.read_text() for handout in handouts), f"no handout has {place}"
    found = json.loads(svg.with_suffix(".json").read_text())
    assert found["verdict"] == "failed" and found["said"].startswith("FAILED")
    marks = len(re.findall('class="mark"', svg.read_text()))
    assert marks == len(found["columns"])


def test_a_timeline_is_taken_out_of_a_page():
    names = '<svg width="72" height="20" class="names"><text x="6" y="12">ms</text></svg>'
    view = '<svg width="300" height="20"><path d="M0,0 H9" fill="var(--bad)"></path></svg>'
    key = '<span class="key" style="--colour: var(--to-server)">bytes sent, not read yet</span>'
    drawn_by_script = f'{key}<div class="view">{names}{view}</div>'
    document = TEMPLATE.read_text() + SCRIPT.read_text() + drawn_by_script
    drawn = timeline.picture(document)
    root = ElementTree.fromstring(drawn)
    assert (root.get("width"), root[1].get("transform")) == ("372", "translate(72,0)")
    assert root[1][0][0].get("fill") == "#cf222e"  # for a program without CSS variables
    assert '[fill="#cf222e"] { fill: var(--bad); }' in drawn
    light, dark = drawn.split("prefers-color-scheme: dark")
    assert "--bad: #cf222e;" in light and "--bad: #ff7b72;" in dark
    assert "bytes sent, not read yet" in {text.text for text in root.iter(f"{SVG}text")}


def test_a_page_without_a_timeline_is_told(tmp_path, monkeypatch, capsys):
    browser = script(tmp_path / "chromium", "echo '<p>nothing</p>'")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert timeline.main([str(tmp_path / "a.html"), str(tmp_path / "a.svg")]) == 2
    assert "the browser has drawn no timeline" in capsys.readouterr().err
    browser.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert timeline.main(["a.html", "a.svg"]) == 2
    assert "it needs a browser: chromium" in capsys.readouterr().err


def test_without_graphviz_it_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pictures.main([]) == 2
    said = capsys.readouterr().err
    assert said == "pictures: dot is not installed: make setup BENCH=1 installs Graphviz\n"


def test_the_states_of_a_connection_are_those_of_a_run():
    again = states.text(states.steps())
    assert (
        states.FILE.read_text() == again
    ), "write it again: python3 -m harness.authors.pictures.states"
    place = "<!-- states 03 -->"
    assert place in (chapters.find("03").chapter_dir / "README.md").read_text()
