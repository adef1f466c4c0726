"""Unusual: every reply is 20 ms late. late.py PORT

Right, since a reply has no time by which it is due, and since lateness delays nobody else: what
one read has completed is sent together when its time has come, and until then this connection
alone is not read. So no more is owed to a client than one read has brought.
"""

import asyncio
import functools
import sys

from frames import serve_until_told, whole_frames

LATE_SECONDS = 0.020


class Late(asyncio.Protocol):
    """One connection. It is read while nothing is owed and nothing waits to be taken."""

    def connection_made(self, transport):
        self.transport = transport
        self.input = bytearray()
        self.is_full = False

    def pause_writing(self):
        self.is_full = True

    def resume_writing(self):
        self.is_full = False
        self.transport.resume_reading()

    def data_received(self, data):
        self.input += data
        size, too_long = whole_frames(self.input)
        if size == 0 and not too_long:
            return
        owed = self.input
        self.input = owed[size:]
        del owed[size:]
        self.transport.pause_reading()
        asyncio.get_running_loop().call_later(LATE_SECONDS, self.reply, owed, too_long)

    def reply(self, owed, is_last):
        self.transport.write(owed)  # a frame is its own reply
        if is_last:
            self.transport.close()
        elif not self.is_full:
            self.transport.resume_reading()


async def main(port):
    loop = asyncio.get_running_loop()
    await serve_until_told(functools.partial(loop.create_server, Late), port)


asyncio.run(main(int(sys.argv[1])))
