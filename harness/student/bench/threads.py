"""What a second loop is worth: python3 -m harness.student.bench.threads [ROUNDS]

The solutions of chapters 08 and 09, the latter with one loop and with two, all with --app rpc, are
asked in turn by clients that never wait. The processors are left to the scheduler, and the clients
need one as well: of two processors the load takes its part. A run in which others worked on
them is repeated.
"""

from __future__ import annotations

import os
import statistics
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from harness.claims.scenarios.greedy import greedy
from harness.client import messages
from harness.client.client import Client
from harness.failures.conversation import Conversation
from harness.failures.failure import Failure, NotJudged
from harness.lab import chapters, command_line
from harness.lab.target import resolve
from harness.server import build
from harness.server.process import ServerProcess
from harness.server.waiting.wait import PATIENCE
from harness.student.bench.command import machine
from harness.student.bench.measure import Place, busy_seconds
from harness.student.bench.rounds import FOREIGN, TRIES
from harness.student.bench.table import number

CLIENTS = 8
ROUNDS = 5
WARM_SECONDS, WATCHED_SECONDS = 0.3, 1.0

LOADS = {
    "ECHO of 2 bytes": messages.request(messages.ECHO, 1, messages.string(b"hi")),
    "SUM of 30 numbers": messages.sum_of(1, *range(30)),
    "SUM of 1,000 numbers": messages.sum_of(1, *range(1000)),
}
PLACE = Place(min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0)))
SUBJECTS = (("08", ()), ("09", ("--threads", "1")), ("09", ("--threads", "2")))


@dataclass(frozen=True)
class Pace:
    """What a server does in a second: messages that it answers, seconds of CPU. `foreign`: the part
    of the time that the processors worked for others."""

    messages: float
    processors: float
    foreign: float


class Running:
    """A server with --app rpc, and what can be asked of it while it works."""

    patience = PATIENCE

    def __init__(self, process: ServerProcess) -> None:
        self.process = process
        self.address = process.address
        self.conversation = Conversation()

    def pace(self, body: bytes, clients: int) -> Pace:
        """The pace of the server while `clients` send this message without a pause."""
        begin, busy, ours = time.monotonic(), busy_seconds(PLACE), self._ours()
        with Client(self.address, Conversation()) as observer:
            with greedy(self, body, clients):
                time.sleep(WARM_SECONDS)
                start, count, cpu = time.monotonic(), _sent(observer), self.process.cpu_seconds()
                time.sleep(WATCHED_SECONDS)
                seconds = time.monotonic() - start
                used = self.process.cpu_seconds() - cpu
                count = _sent(observer) - count
        foreign = busy_seconds(PLACE) - busy - (self._ours() - ours)
        return Pace(count / seconds, used / seconds, foreign / (time.monotonic() - begin))

    def _ours(self) -> float:
        """CPU seconds of the server, of this process, and of the clients that have ended."""
        times = os.times()
        return self.process.cpu_seconds() + sum(times[:4])


def _sent(observer: Client) -> int:
    """The replies that the server has made so far."""
    observer.send_frame(messages.request(messages.STATS, 1))
    return struct.unpack("<3q", observer.read_frame()[messages.HEAD :])[2]


@contextmanager
def _running(number: str, words: tuple[str, ...]) -> Iterator[Running]:
    process = ServerProcess()
    try:
        binary = build.cached_server(
            chapters.find(number).solution_dir, extra_flags=build.FASTEST
        ).binary
        process.start([str(binary), "-p", "0", "--app", "rpc", *words])
        yield Running(process)
    finally:
        process.destroy()


def _undisturbed(subject: tuple[str, tuple[str, ...]], body: bytes) -> Pace:
    """The first run in which nobody else worked much, or the least disturbed of TRIES."""
    paces: list[Pace] = []
    while len(paces) < TRIES and all(pace.foreign > FOREIGN for pace in paces):
        with _running(*subject) as server:
            paces.append(server.pace(body, CLIENTS))
    return min(paces, key=lambda pace: pace.foreign)


def main(arguments: list[str]) -> int:
    """Measures and prints. Returns the exit status: 0, or 2 with the reason on stderr."""
    try:
        rounds = int(arguments[0]) if arguments else ROUNDS
    except ValueError:
        print(f"threads: {arguments[0]}: how many rounds?", file=sys.stderr)
        return 2
    return command_line.run("threads", lambda: _compare(rounds), NotJudged, Failure)


def _compare(rounds: int) -> int:
    """Raises WrongUsage, NotJudged, Failure."""
    for one in dict.fromkeys(chapter for chapter, _ in SUBJECTS):
        resolve(chapters.find(one), "solutions")
    print(f"{machine()}\n{CLIENTS} clients; medians of {rounds} rounds, minimum and maximum\n")
    print("                         messages a second                server CPU")
    for text, body in LOADS.items():
        paces: dict[tuple, list[Pace]] = {subject: [] for subject in SUBJECTS}
        for _ in range(rounds):
            for subject in SUBJECTS:
                paces[subject].append(_undisturbed(subject, body))
        print(f"\n{text}")
        for (chapter, words), found in paces.items():
            print(f"    {' '.join((chapter, *words)):18} {_told(found)}", flush=True)
    return 0


def _told(found: list[Pace]) -> str:
    rates = [pace.messages for pace in found]
    least, middle, most = map(number, (min(rates), statistics.median(rates), max(rates)))
    used = statistics.median(pace.processors for pace in found)
    disturbed = sum(pace.foreign > FOREIGN for pace in found)
    note = f"   {disturbed} disturbed" if disturbed else ""
    return f"{middle:>8} {f'({least} to {most})':>22} {used:18.2f}{note}"


if __name__ == "__main__":
    sys.exit(command_line.program(lambda: main(sys.argv[1:])))
