"""What redis-cli, which nobody here wrote, gets from the server of 11, and from Redis."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from harness.client import resp
from harness.client.redis import here
from harness.feedback.failure import Failure, NotJudged
from harness.feedback.printable import harmless, printable
from harness.server.process import ServerProcess
from harness.student.demos.shown import server_of

OPTIONS = '--port {port} --bind 127.0.0.1 --save "" --appendonly no --loglevel warning'
COMMANDS = (("PING",), ("SET", "name", "Ada Lovelace"), ("GET", "name"), ("GETT", "name"))
SECONDS = 10  # for redis-cli to end
LINES = ((0, 4), (4, 8), (8, 14))  # of the bytes of PING: its lines


def show() -> None:
    """The bytes of a command, and what both servers reply. Raises NotJudged without redis-cli."""
    if not here.program("redis-cli"):
        raise NotJudged("redis-cli is not installed: `make setup` installs it")
    _show_the_bytes()
    with server_of("11", together=1, arguments=("--threads", "1")) as server:
        print("The server of 11 takes the first four bytes for the length of a frame:")
        length = struct.unpack("<I", _sent()[:4])[0]
        print(f"{length:,} bytes. So it has nothing to say to this client:\n")
        _ask(server.address, COMMANDS[:1])
    with _redis() as address:
        if address:
            print("\nThe same program, and Redis:\n")
            _ask(address, COMMANDS)


def _show_the_bytes() -> None:
    data = _sent()
    print("`redis-cli PING` sends this:\n")
    print("    " + "   ".join(data[start:end].hex(" ") for start, end in LINES))
    below = "   ".join(_under(data[start:end]) for start, end in LINES)
    print(f"    {below.rstrip()}\n", flush=True)


def _under(data: bytes) -> str:
    """A text below the hexadecimal digits of each byte."""
    return " ".join(f"{printable(data[i : i + 1])} " for i in range(len(data)))


def _sent() -> bytes:
    """What redis-cli sends for PING, to a server that listens only for that."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = _command(listener.getsockname(), ("PING",))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as cli:
            try:
                listener.settimeout(SECONDS)
                client = listener.accept()[0]
                client.settimeout(SECONDS)
                with client:
                    return client.recv(100)
            except OSError:
                return resp.command("PING")
            finally:
                cli.kill()


def _command(address: tuple[str, int], words: tuple[str, ...]) -> list[str]:
    return [here.program("redis-cli"), "-h", address[0], "-p", str(address[1]), "--no-raw", *words]


def _ask(address: tuple[str, int], commands: tuple[tuple[str, ...], ...]) -> None:
    for words in commands:
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        print(f"    $ redis-cli {shown}", flush=True)
        try:
            done = subprocess.run(
                _command(address, words), capture_output=True, text=True, timeout=SECONDS
            )
            said = (done.stdout + done.stderr).strip()
        except subprocess.TimeoutExpired:
            said = f"(nothing for {SECONDS} s)"
        print(f"    {harmless(said)[:74]}", flush=True)


@contextmanager
def _redis() -> Iterator[tuple[str, int] | None]:
    """A server of Redis; None where there is none."""
    process, redis = ServerProcess(), here.program("redis-server")
    try:
        command = redis and f"{redis} {OPTIONS}"
        address = process.start(command, mode="port").address if command else None
    except Failure as failure:
        print(f"\n{redis} does not start here: {failure.message[:50]}", file=sys.stderr)
        address = None
    try:
        yield address
    finally:
        process.destroy()
