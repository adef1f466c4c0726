"""Echoes bytes, one client at a time, without SO_REUSEADDR; "q" ends. no_reuse.py PORT"""

import signal
import socket
import sys

signal.signal(signal.SIGTERM, signal.SIG_DFL)
listener = socket.socket()
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(100)
while True:
    connection, _ = listener.accept()
    with connection:
        while True:
            data = connection.recv(65536)
            if not data or data == b"q":
                break
            connection.sendall(data)
