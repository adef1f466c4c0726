"""Unusual: Python's asyncio, which nobody here wrote. asyncio_echo.py PORT"""

import asyncio
import signal
import sys

MAX_FRAME = 32 << 20
CLIENTS_WAITING = 200  # the backlog, and how often asyncio tries again at EMFILE


class Echo(asyncio.Protocol):
    """One connection. Its input is not read while its output is not taken."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.input = bytearray()

    def pause_writing(self) -> None:
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self.input += data
        end = 0
        while end + 4 <= len(self.input):
            length = int.from_bytes(self.input[end : end + 4], "little")
            if length > MAX_FRAME:
                self.transport.write(bytes(self.input[:end]))
                self.transport.close()
                return
            if end + 4 + length > len(self.input):
                break
            end += 4 + length
        if end:  # a frame is its own reply
            self.transport.write(bytes(self.input[:end]))
            del self.input[:end]


async def main(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Echo, "127.0.0.1", port, backlog=CLIENTS_WAITING)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
    server.close()


asyncio.run(main(int(sys.argv[1])))
