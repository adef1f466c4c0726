"""The problem of a chapter, as a command that shows it: python3 -m harness.demo NN (make demo)

A demo does the real thing over real sockets, says what it does and prints what it sees. Beginning
with the second, it shows what the server of the chapter before cannot do yet. Each has a module of
its own in harness/demos.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from harness.demos import ch01, ch02, ch03, ch04, ch05, ch06, ch07, ch08, ch09, ch10
from harness.demos.shown import NotReady
from harness.evidence.failure import Failure, NotJudged
from harness.lab import chapters, command_line
from harness.server import build

DEMOS: dict[str, Callable[[], None]] = {
    "01": ch01.one_read_is_not_one_message,
    "02": ch02.one_slow_client_stops_everyone,
    "03": ch03.the_sweep_costs_a_processor,
    "04": ch04.one_frame_an_event,
    "05": ch05.bytes_have_no_borders,
    "06": ch06.idle_connections_are_not_free,
    "07": ch07.nobody_tells_when_nothing_happens,
    "08": ch08.one_greedy_client_starves_the_rest,
    "09": ch09.one_loop_uses_one_core,
    "10": ch10.callbacks_turn_the_logic_inside_out,
}


def main(arguments: list[str]) -> int:
    """Runs the demo of one chapter. Returns the exit status: 0, or 2 with the reason on stderr."""
    return command_line.run("demo", lambda: run(arguments), NotReady, NotJudged, build.NoCompiler)


def run(arguments: list[str]) -> int:
    """Runs the demo that the arguments name. Returns the exit status."""
    if len(arguments) != 1:
        raise chapters.UnknownChapter("which chapter? For instance: make demo CH=02")
    chapter = chapters.find(arguments[0])
    try:
        DEMOS[chapter.number]()
    except Failure as failure:
        raise NotReady(f"the server did something else: {failure.message}") from None
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
