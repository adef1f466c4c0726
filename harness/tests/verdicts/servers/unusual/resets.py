"""Unusual: ends the connection of an over-long frame by RST, not by FIN. resets.py PORT

A coroutine for every connection, on asyncio's streams. Right, since the protocol leaves the way of
closing to the server, and the RST does not overtake what is owed: it waits until the kernel of the
other side has all of it. For a client that does not take its replies a plain close() has to do.
"""

import asyncio
import fcntl
import functools
import socket
import struct
import sys
import termios

from frames import serve_until_told, whole_frames

READ_BYTES = 64 << 10
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


start = functools.partial(asyncio.start_server, serve)
asyncio.run(serve_until_told(start, int(sys.argv[1])))
