"""Unusual: ends the connection of an over-long frame by RST, not by FIN. resets.py PORT

A coroutine for every connection, on asyncio's streams. Right, since the protocol leaves the way of
closing to the server, and the RST does not overtake what is owed: it waits until the kernel of the
other side has all of it. For a client that does not take its replies a plain close() has to do.
"""

import asyncio
import fcntl
import signal
import socket
import struct
import sys
import termios

MAX_FRAME = 32 << 20
READ_BYTES = 64 << 10
TRIES = 100  # to accept, each time somebody wants in
LOOKS = 200  # whether all has arrived, before it gives up
LOOK_SECONDS = 0.010


async def serve(reader, writer):
    """One connection, to its end."""
    data = bytearray()
    try:
        while True:
            came = await reader.read(READ_BYTES)
            data += came
            size, too_long = whole_frames(data)
            if size:
                data = send(writer, data, size)
                await writer.drain()
            if too_long:
                await reset(writer)
            if too_long or not came:
                return
    except OSError:  # it is gone
        pass
    finally:
        writer.close()


def send(writer, data, size):
    """Sends the first `size` bytes of `data`, a frame being its own reply. Returns the others."""
    rest = data[size:]
    del data[size:]
    writer.write(data)
    return rest


async def reset(writer):
    """Closes by RST once everything has arrived, if it does."""
    sock = writer.get_extra_info("socket")
    for _ in range(LOOKS):
        unsent = writer.transport.get_write_buffer_size()
        if not unsent and not unacknowledged(sock):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return
        await asyncio.sleep(LOOK_SECONDS)


def unacknowledged(sock):
    """Bytes that the other side's kernel does not have: SIOCOUTQ in tcp(7), which is TIOCOUTQ."""
    return struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0]


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


async def main(port):
    listener = socket.create_server(("127.0.0.1", port))
    server = await asyncio.start_server(serve, sock=listener, backlog=TRIES)
    listener.listen(socket.SOMAXCONN)
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
    server.close()


asyncio.run(main(int(sys.argv[1])))
