"""What an idle connection costs in memory: python3 -m harness.student.bench.idle [CONNECTIONS]

The solutions of chapters 09, 10 and 11 with one loop; 10 also with a log line for each frame.
Resident memory before the clients come, when all are connected, and when each has had a reply.
"""

from __future__ import annotations

import socket
import sys

from harness.client import length_framing
from harness.client.client import Client
from harness.failures.conversation import Conversation
from harness.failures.failure import Failure, NotJudged
from harness.lab import chapters, command_line
from harness.lab.target import WrongUsage, resolve
from harness.server import build
from harness.server.process import ServerProcess
from harness.student.bench.command import machine

CONNECTIONS = 10_000
SPARE = 200  # descriptors for everything else
FRAME = length_framing.encode(b"ping")

ONE_LOOP = ("-p", "0", "--threads", "1")


def _subjects() -> dict[str, list[str]]:
    """The servers to measure, each with the command that starts it. Raises WrongUsage where there
    are no solutions."""
    nine, ten, eleven = (
        str(build.cached_server(resolve(chapters.find(n), "solutions").source).binary)
        for n in ("09", "10", "11")
    )
    return {
        "09": [nine, *ONE_LOOP],
        "10": [ten, *ONE_LOOP],
        "10 -v": [ten, *ONE_LOOP, "-v"],
        "11": [eleven, *ONE_LOOP],
    }


def _measured(command: list[str], connections: int) -> list[float]:
    """Bytes for each connection, once all are there, and after a frame on each. Raises Failure."""
    with ServerProcess() as process:
        process.start(command, nofile=connections + SPARE)
        begin, found = process.resident_bytes(), []
        clients = [socket.create_connection(process.address) for _ in range(connections)]
        _served(process.address)  # who comes last is served last: all are accepted
        found.append((process.resident_bytes() - begin) / connections)
        for client in clients:
            client.sendall(FRAME)
        for client in clients:
            client.recv(len(FRAME), socket.MSG_WAITALL)
        found.append((process.resident_bytes() - begin) / connections)
        for client in clients:
            client.close()
    return found


def _served(address: tuple[str, int]) -> None:
    with Client(address, Conversation()) as client:
        client.send(FRAME)
        client.expect_frame(b"ping")


def main(arguments: list[str]) -> int:
    """Measures and prints. Returns the exit status: 0, or 2 with the reason on stderr."""
    try:
        connections = int(arguments[0]) if arguments else CONNECTIONS
        subjects = _subjects()
        print(f"{machine()}\n{connections:,} connections; bytes resident for each\n")
        print("                 connected   after a frame")
        for told, command in subjects.items():
            idle, spoke = _measured(command, connections)
            print(f"    {told:9} {idle:12,.0f} {spoke:15,.0f}", flush=True)
    except (ValueError, OSError, Failure, NotJudged, WrongUsage) as error:
        print(f"idle: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(command_line.program(lambda: main(sys.argv[1:])))
