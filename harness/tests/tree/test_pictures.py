"""The pictures of the documents: drawn from their sources, and about the code of today."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from harness.authors.pictures import command as pictures
from harness.authors.pictures import timeline
from harness.lab import chapters, sources
from harness.student.trace.page import SCRIPT, TEMPLATE
from harness.tests.tree import documents

NAME = re.compile(r"[A-Za-z]\w*_\w+|\b\w+(?=\(\))")  # conn_read, POLL_STOP, reader_i32, poll()
# Names that no server has: calls of a client and of libraries, and states of TCP.
ELSEWHERE = {"recv", "connect", "io_uring_enter", "FIN_WAIT", "TIME_WAIT", "CLOSE_WAIT", "LAST_ACK"}
SVG = "{http://www.w3.org/2000/svg}"


def test_pictures_are_drawn_shown_and_about_the_code():
    """The mark in a picture is a hash of its source, so Graphviz need not be here."""
    shown = "".join(documents.read(document) for document in documents.documents())
    drawn = {svg.stem for svg in pictures.DIRECTORY.glob("*.svg")}
    wrong = [f"docs/pictures/{one}.svg has no source" for one in drawn]
    for source in pictures.sources():
        svg, name = source.with_suffix(".svg"), f"docs/pictures/{source.stem}.svg"
        wrong.remove(f"{name} has no source") if source.stem in drawn else wrong.append(name)
        mark = f"<!-- from {source.name}, {pictures.digest(source)} -->\n"
        if not svg.exists() or not svg.read_text().startswith(mark):
            wrong.append(f"{name} is not drawn from its source of today: make pictures")
            continue
        if f"pictures/{svg.name})" not in shown:
            wrong.append(f"no document shows {name}")
        number = source.name[:2] if source.name[:2].isdigit() else "01"
        code = "".join(sources.texts(chapters.find(number).chapter_dir).values())
        words = " ".join(one.text or "" for one in ElementTree.parse(svg).iter(f"{SVG}text"))
        names = set(NAME.findall(words)) - ELSEWHERE - set(re.findall(r"\w+", code))
        wrong += [f"{name} names {one}, which chapter {number} lacks" for one in sorted(names)]
    assert not wrong, "\n".join(wrong)


def test_a_timeline_is_taken_out_of_a_page_of_make_trace():
    names = '<svg width="72" height="20" class="names"><text x="6" y="12">ms</text></svg>'
    view = '<svg width="300" height="20"><path d="M0,0 H9" fill="var(--bad)"></path></svg>'
    key = '<span class="key" style="--colour: var(--to-server)">bytes sent, not read yet</span>'
    page = f'{TEMPLATE.read_text()}{SCRIPT.read_text()}{key}<div class="view">{names}{view}</div>'
    drawn = timeline.picture(page)
    root = ElementTree.fromstring(drawn)
    assert (root.get("width"), root[1].get("transform")) == ("372", "translate(72,0)")
    assert root[1][0][0].get("fill") == "#cf222e"  # for a program without CSS variables
    assert "bytes sent, not read yet" in {text.text for text in root.iter(f"{SVG}text")}
