"""Documents show what servers and commands really print."""

from __future__ import annotations

import html
import re
from itertools import groupby
from operator import itemgetter

from harness.client.client import Client
from harness.feedback.conversation import Conversation
from harness.maintain.pictures import states
from harness.maintain.wrong_servers.catalogue import CATALOGUE
from harness.server import build
from harness.server.process import ServerProcess
from harness.submission.chapters import CHAPTERS, ROOT
from harness.tests import shell

PART = re.compile(
    r"^    (request|reply|push) +((?:[0-9a-f]{2}[ |]*)+\n(?: +\|[ |0-9a-f]+\n)*)", re.M
)
FAILURE = re.compile(r"^ *FAILED +\d\d\..*?make trace ID=\S+", re.M | re.S)


def test_the_solution_answers_as_the_protocol_page_says():
    """Requests in a row share a reply, if there is but one."""
    found = PART.findall((ROOT / "docs/protocol.md").read_text())
    parts = [(kind == "request", bytes.fromhex(text.replace("|", " "))) for kind, text in found]
    groups = [[data for _, data in group] for _, group in groupby(parts, itemgetter(0))]
    assert sum(is_request for is_request, _ in parts) >= 18
    binary = build.cached_server(CHAPTERS[-1].solution_dir).binary
    process = ServerProcess()
    try:
        process.start([str(binary), "-p", "0", "--app", "rpc"])
        with Client(process.address, Conversation()) as client:
            for requests, replies in zip(groups[::2], groups[1::2]):
                client.send(b"".join(requests))
                for reply in replies if len(replies) > 1 else replies * len(requests):
                    client.expect_frame(reply[4:])
                    assert len(reply) - 4 == int.from_bytes(reply[:4], "little")
            client.expect_nothing_yet()
    finally:
        process.destroy()


def plain(text: str) -> str:
    """The failure in a text, without the place of its server, its memory, and the indentation."""
    text = FAILURE.search(re.sub(r" DIR=\S+|[\d.]+ MB| +\(\d\)$", "", text, flags=re.M))[0]
    return "\n".join(line.strip() for line in text.splitlines())


def test_the_failure_of_the_readme_is_what_the_grader_prints(tmp_path):
    next(one for one in CATALOGUE if one.id == "01-one-read").write(tmp_path)
    readme = (ROOT / "README.md").read_text()
    word = re.search(r"make replay ID=(\S+)", readme)[1]
    printed = shell.lab("replay", LAB_ID=word, LAB_DIR=str(tmp_path)).stdout
    assert plain(printed) == plain(readme)
    page = html.unescape((ROOT / "docs/timelines/one-read.html").read_text())
    assert plain(page) == plain(readme)


def test_the_states_of_a_connection_are_those_of_a_run():
    again = states.text(states.steps())
    assert states.FILE.read_text() == again, "run python3 -m harness.maintain.pictures.states"
