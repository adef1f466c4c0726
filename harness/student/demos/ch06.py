"""What idle connections cost a server that polls; and a report that comes to the wrong client."""

from __future__ import annotations

import resource
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator

from harness.client.client import Client
from harness.server.process import ServerProcess
from harness.student.demos.shown import WATCHED_SECONDS, round_trip, server_of

IDLE_CLIENTS = (0, 1000, 5000)  # idle clients
RESET = struct.pack("ii", 1, 0)  # struct linger: close() sends RST
SPARE = 200  # descriptors for everything else


def show() -> None:
    """What one busy client costs the server, and gets, beside clients that say nothing."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = IDLE_CLIENTS[-1] + SPARE if allowed == resource.RLIM_INFINITY else allowed
    with server_of("05", together=2, nofile=min(most, IDLE_CLIENTS[-1] + SPARE)) as server:
        print("One client sends small frames, one after the other. More and more others are")
        print("connected, and send nothing at all.\n")
        print("    idle clients   requests a second   server CPU for a request")
        busy, idle = server.connect("busy"), 0
        for count in sorted({min(count, max(0, most - SPARE)) for count in IDLE_CLIENTS}):
            for _ in range(count - idle):
                server.connect("idle")
            idle = count
            print(f"    {idle:12,} {_one_after_the_other(server.process, busy)}", flush=True)
        if idle < IDLE_CLIENTS[-1]:
            print(f"\nNot more: {allowed:,} descriptors are allowed here (ulimit -Hn).")
        entries = idle + 3  # its own two, and the busy client
        print(f"\nFor each request the server writes a list of {entries:,} entries, and poll()")
        print("goes through it, to say that one of them is ready: always the same one. All the")
        print("others send nothing, and the server pays for each of them.")


def show_part_one() -> None:
    """A report that comes to the wrong client, since only a number says for whom it is."""
    print("A loop as it is often written first: a table has a callback for each descriptor.")
    print("B has reset its connection, A demands that B be closed, and C connects. Then one")
    print("poll() makes three reports, and the loop calls three callbacks:\n")
    with Table() as table:
        print("    report               what the callback does")
        for report, done in table.run():
            print(f"    {report:20} {done}", flush=True)
        print(f"\n    C reads: {table.what_c_reads()}")
    print("\nC did nothing. When poll() made its report, the number was that of B. Before the")
    print("loop came to it, the number had got another owner.")


PARTS = (show_part_one, show)


class Table:
    """A loop that finds its callbacks by number, and real connections: of A, of B, and of C."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._clients = {name: self._connected() for name in "AB"}
        self._accepted = {name: self._listener.accept()[0] for name in "AB"}
        self._callbacks: dict[int, Callable[[], str]] = {
            self._accepted["A"].fileno(): self._on_a,
            self._listener.fileno(): self._on_listener,
            self._accepted["B"].fileno(): lambda: self._on_reset("B"),
        }

    def run(self) -> Iterator[tuple[str, str]]:
        """One iteration of the loop. Yields each report, and what its callback has done."""
        self._clients["A"].send(b"close B")
        self._clients["B"].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._clients["B"].close()
        self._clients["C"] = self._connected()  # in this program it has the number that B had
        loop = select.poll()
        for number in self._callbacks:
            loop.register(number, select.POLLIN)
        while len(reports := loop.poll()) < len(self._callbacks):
            pass  # what was sent may be on its way
        for number, ready in reports:
            report = "reset" if ready & select.POLLERR else "readable"
            yield f"{number} is {report}", self._callbacks[number]()

    def _connected(self) -> socket.socket:
        return socket.create_connection(self._listener.getsockname(), timeout=10)

    def what_c_reads(self) -> str:
        return "the end" if self._clients["C"].recv(1) == b"" else "something"

    def _on_a(self) -> str:
        number = self._accepted["B"].fileno()
        self._accepted["B"].close()
        return f'A sent "{self._accepted["A"].recv(100).decode()}": {number} is closed, and free'

    def _on_listener(self) -> str:
        c = self._accepted["C"] = self._listener.accept()[0]
        self._callbacks[c.fileno()] = lambda: self._on_reset("C")
        return f"C is accepted, and gets the number {c.fileno()}"

    def _on_reset(self, name: str) -> str:
        self._accepted[name].close()
        return f"closes the connection of {name}"

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self._listener, *self._clients.values(), *self._accepted.values()):
            stream.close()


def _one_after_the_other(process: ServerProcess, client: Client) -> str:
    """Exchanges frames for a while. Returns what they cost."""
    round_trip(client)  # all that have connected are accepted before it is answered
    count, cpu, start = 0, process.cpu_seconds(), time.monotonic()
    while time.monotonic() < start + WATCHED_SECONDS:
        round_trip(client)
        count += 1
    return cost_of(count, time.monotonic() - start, process.cpu_seconds() - cpu)


def cost_of(count: int, seconds: float, cpu: float) -> str:
    """Frames a second, and the server's CPU time for each; of so many frames in `seconds`, in which
    the server used `cpu` seconds."""
    return f"{count / seconds:19,.0f} {1e6 * cpu / count:23,.0f} µs"
