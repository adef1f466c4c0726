"""Servers that misbehave, or are right in an unusual way: odd.py NAME [PORT]. For test_process.py.
"""

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


def announce():
    print("listening on %s:%d" % listener.getsockname(), flush=True)


def start():
    listen()
    announce()


def serve():
    """Echoes, one thread a connection."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=echo, args=(connection,), daemon=True).start()


def echo(connection):
    with connection:
        while data := connection.recv(65536):
            connection.sendall(data)


def sleep_for_ever():
    while True:
        time.sleep(1000)


def is_right():
    start()
    serve()


def prints_other_lines_first():
    print("starting up")
    print("listening on nothing yet")
    is_right()


def listens_everywhere():
    listen("")
    announce()
    serve()


def closes_stdout():
    start()
    os.close(1)
    serve()


def prints_much_later():
    start()
    for _ in range(64):
        os.write(1, b"x" * 65535 + b"\n")
        os.write(2, b"y" * 65535 + b"\n")
    serve()


def forgets_to_say():
    """A right server where the port is told, and a wrong one where the server should print it."""
    listen()
    serve()


def serves_one_client():
    listen()
    echo(listener.accept()[0])


def sets_no_option():
    """Echoes, one client at a time, without SO_REUSEADDR; "q" lets it close first."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    only = socket.socket()
    only.bind(("127.0.0.1", PORT))
    only.listen(100)
    while True:
        connection, _ = only.accept()
        with connection:
            while (data := connection.recv(65536)) not in (b"", b"q"):
                connection.sendall(data)


def waits_with_epoll():
    """Tells of each signal that interrupts its epoll_wait(2)."""
    libc, event = ctypes.CDLL(None), (ctypes.c_uint32 * 3)()
    signal.signal(signal.SIGUSR2, lambda *_: None)
    start()
    poller = select.epoll()
    while libc.epoll_wait(poller.fileno(), event, 1, -1) < 0:
        print("interrupted", flush=True)


def crashes():
    start()
    connection, _ = listener.accept()
    os.kill(os.getpid(), signal.SIGSEGV)


def exits_with_7():
    start()
    connection, _ = listener.accept()
    print("last words", file=sys.stderr, flush=True)
    os._exit(7)


# Does not start


def prints_for_ever():
    while True:
        os.write(1, b"x" * 65536)


def forgets_the_newline():
    listen()
    print("listening on %s:%d" % listener.getsockname(), end="", flush=True)
    sleep_for_ever()


def says_nothing():
    sleep_for_ever()


def dies_and_leaves_a_child():
    if os.fork() == 0:
        sleep_for_ever()
    print("bind: Address already in use", file=sys.stderr)
    sys.exit(4)


# Has other processes


def forks():
    """Three children, each with a child of its own, that ignore what they can ignore."""
    listen()
    ready, done = os.pipe()
    for _ in range(3):
        if os.fork() == 0:
            os.fork()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(done, b".")
            sleep_for_ever()
    for _ in range(6):
        os.read(ready, 1)
    announce()
    serve()


def leaves_a_daemon():
    """A double fork with a new session between; the process in the middle is gone."""
    daemonize(lambda done: (os.close(done), sleep_for_ever()))


def leaves_a_bare_daemon():
    """Starts a daemon and executes a program in it without the environment that was given."""
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(1000)"]
    daemonize(lambda _: os.execve(sleep[0], sleep, {}))  # which closes what is given


def daemonize(then):
    """The daemon is ready, and the server announced, when then() has closed what it is given."""
    listen()
    ready, done = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            then(done)
        os._exit(0)
    os.close(done)
    os.wait()
    os.read(ready, 1)  # the end of the pipe
    announce()
    serve()


def breeds():
    """Every process forks another and ends, over and over."""
    start()
    if os.fork() == 0:
        while True:
            if os.fork() != 0:
                os._exit(0)
    serve()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
