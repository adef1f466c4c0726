"""The worked bytes of docs/protocol.md are what the solution answers."""

from __future__ import annotations

import re

from harness.client.client import Client
from harness.failures.conversation import Conversation
from harness.lab import chapters
from harness.server import build
from harness.server.process import ServerProcess

PAGE = chapters.ROOT / "docs" / "protocol.md"
PART = re.compile(
    r"^    (request|reply|push) +((?:[0-9a-f]{2}[ |]*)+\n(?: +\|[ |0-9a-f]+\n)*)", re.M
)

Exchange = "tuple[list[bytes], list[bytes]]"


def worked_bytes() -> list[Exchange]:
    """Requests with their replies, in the order of the page.

    Requests in a row share a reply, if there is but one. A push counts as one.
    """
    exchanges: list[Exchange] = [([], [])]
    for kind, text in PART.findall(PAGE.read_text()):
        if kind == "request" and exchanges[-1][1]:
            exchanges.append(([], []))
        requests, replies = exchanges[-1]
        (requests if kind == "request" else replies).append(bytes.fromhex(text.replace("|", " ")))
    return exchanges


def test_the_solution_answers_as_the_page_says():
    exchanges = worked_bytes()
    assert sum(len(requests) for requests, _ in exchanges) >= 18
    binary = build.cached_server(chapters.CHAPTERS[-1].solution_dir).binary
    process = ServerProcess()
    try:
        process.start([str(binary), "-p", "0", "--app", "rpc"])
        with Client(process.address, Conversation()) as client:
            for requests, replies in exchanges:
                client.send(b"".join(requests))
                for reply in replies if len(replies) > 1 else replies * len(requests):
                    client.expect_frame(reply[4:])
                    assert len(reply) - 4 == int.from_bytes(reply[:4], "little")
            client.expect_nothing_yet()
    finally:
        process.destroy()
