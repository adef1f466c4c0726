"""Servers that are right in an unusual way, or leave processes behind: odd.py NAME [PORT]."""

import ctypes
import os
import select
import signal
import socket
import sys
import threading
import time

PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 0
listener = None


def listen(address="127.0.0.1"):
    global listener
    listener = socket.create_server((address, PORT), backlog=100)


def start(first=lambda: None):
    print("listening on %s:%d" % listener.getsockname(), flush=True)
    first()
    serve()


def serve():
    """Echoes, one thread a connection."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=echo, args=(connection,), daemon=True).start()


def echo(connection):
    with connection:
        while data := connection.recv(65536):
            connection.sendall(data)


def is_right():
    listen()
    start()


def prints_other_lines_first():
    print("starting up\nlistening on nothing yet")
    is_right()


def listens_everywhere():
    listen("")
    start()


def closes_stdout():
    listen()
    start(lambda: os.close(1))


def prints_much():
    """Four MiB on each output, while a client waits."""
    listen()
    start(lambda: [os.write(fd, b"x" * 65536) for _ in range(64) for fd in (1, 2)])


def forgets_to_say():
    """A right server where the port is told, and a wrong one where the server should print it."""
    listen()
    serve()


def waits_with_epoll():
    """Tells of each signal that interrupts its epoll_wait(2)."""
    libc, event = ctypes.CDLL(None), (ctypes.c_uint32 * 3)()
    signal.signal(signal.SIGUSR2, lambda *_: None)
    print("listening on 127.0.0.1:1", flush=True)
    poller = select.epoll()
    while libc.epoll_wait(poller.fileno(), event, 1, -1) < 0:
        print("interrupted", flush=True)


def forks():
    """Three children, each with a child of its own, that ignore what they can ignore."""
    listen()
    ready, done = os.pipe()
    for _ in range(3):
        if os.fork() == 0:
            os.fork()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(done, b".")
            time.sleep(1e6)
    for _ in range(6):
        os.read(ready, 1)
    start()


def leaves_a_daemon(wipes=False):
    """A double fork with a new session between. `wipes`: the daemon executes a program without the
    environment that was given."""
    listen()
    ready, done = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            if wipes:
                os.execve("/bin/sleep", ["sleep", "1000"], {})
            os.close(done)
            time.sleep(1e6)
        os._exit(0)
    os.close(done)
    os.wait()
    os.read(ready, 1)  # the end of the pipe
    start()


def leaves_a_bare_daemon():
    leaves_a_daemon(wipes=True)


def breeds():
    """Every process forks another and ends, over and over."""
    listen()
    if os.fork() == 0:
        while os.fork() == 0:
            pass
        os._exit(0)
    start()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
