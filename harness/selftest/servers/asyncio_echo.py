"""A right server of another make: Python's asyncio. asyncio_echo.py PORT"""

import asyncio
import signal
import sys

MAX_FRAME = 32 << 20
CLIENTS_WAITING = 128  # the backlog, and how often asyncio tries again at EMFILE


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            header = await reader.readexactly(4)
            length = int.from_bytes(header, "little")
            if length > MAX_FRAME:
                break
            body = await reader.readexactly(length)
            writer.write(header + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, OSError):
        pass
    finally:
        writer.close()


async def main(port: int) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=CLIENTS_WAITING)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    server.close()


asyncio.run(main(int(sys.argv[1])))
