"""make run: builds the server that CH, FROM or DIR name, and becomes it, with ARGS as options.

It listens on PORT; without that on 1234, or on another port if 1234 is taken: on a shared machine,
it may be somebody else's. build/port and build/pid tell clients and debuggers where it is. With
ARGS=-p0, which is any free port, build/port has 0, and the server prints the port.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import sys
from typing import NoReturn

from harness.feedback.failure import NotJudged
from harness.server.build import BuildFailed, cached_server
from harness.server.linux import prctl
from harness.submission import command_line
from harness.submission.chapters import find
from harness.submission.command_line import BUILD
from harness.submission.target import WrongUsage, port_number, resolve, setting

USUAL_PORT = 1234
PORT_OPTION = re.compile(r"(?:^| )-v*p ?(\d+)")  # among the options of a server


def main(_: list[str]) -> int:
    """Returns the exit status if it does not become the server: 2, with the reason on stderr."""
    return command_line.run("run", run, NotJudged, BuildFailed, ValueError)


def run() -> NoReturn:
    """Becomes the server."""
    if not setting("CH"):
        raise WrongUsage("which chapter? For instance: make run CH=03")
    target = resolve(find(setting("CH")), setting("FROM"), setting("DIR"))
    options = with_port(shlex.split(setting("ARGS") or ""))
    compiled = cached_server(target.source)
    (BUILD / "port").write_text(f"{PORT_OPTION.findall(' '.join(options))[-1]}\n")
    (BUILD / "pid").write_text(f"{os.getpid()}\n")
    prctl.allow_debuggers()
    print(compiled.warnings, end="", file=sys.stderr, flush=True)
    os.execv(compiled.binary, ["server", *options])


def with_port(options: list[str]) -> list[str]:
    """The options with a port among them."""
    if PORT_OPTION.search(" ".join(options)):
        return options
    port = port_number(setting("PORT")) if setting("PORT") else free_port()
    return ["-p", str(port), *options]


def free_port() -> int:
    """The usual port, or any other if that one is taken."""
    for port in (USUAL_PORT, 0):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
                listener.listen()
            except OSError:
                continue
            return listener.getsockname()[1]
    return USUAL_PORT
