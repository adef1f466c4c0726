"""A right server that is not one of the lab's: python3 harness/authors/selftest/echo.py PORT."""

from __future__ import annotations

import socketserver
import sys


class Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while True:
            head = self.rfile.read(4)
            if len(head) < 4:
                return
            self.wfile.write(head + self.rfile.read(int.from_bytes(head, "little")))


if __name__ == "__main__":
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Connection).serve_forever()
