"""What servers in Python share: which frames are complete, and to serve until a signal comes."""

import asyncio
import signal
import socket

MAX_FRAME = 32 << 20
TRIES = 100  # to accept, each time somebody wants in


def whole_frames(data):
    """How many bytes of complete frames `data` begins with, and whether a too long one follows."""
    end = 0
    while end + 4 <= len(data):
        length = int.from_bytes(data[end : end + 4], "little")
        if length > MAX_FRAME:
            return end, True
        if end + 4 + length > len(data):
            break
        end += 4 + length
    return end, False


async def serve_until_told(start, port):
    """`start`: starts a server of asyncio on a listening socket."""
    listener = socket.create_server(("127.0.0.1", port))
    server = await start(sock=listener, backlog=TRIES)
    listener.listen(socket.SOMAXCONN)
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
    server.close()
