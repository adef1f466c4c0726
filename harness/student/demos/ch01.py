"""What arrives of three sends, and of one large one."""

from __future__ import annotations

import socket
import threading
import time

from harness.feedback.conversation import counted
from harness.submission.sizes import MIB


def show() -> None:
    """What three sends, and then one large one, look like to the receiver."""
    sender, receiver = _connected_pair()
    with sender, receiver:
        print("A TCP connection. The sender calls send() three times:\n")
        for message in (b"one", b"two", b"three"):
            sender.sendall(message)
            print(f"    send({message!r})")
        time.sleep(0.1)  # the receiver has other things to do meanwhile
        print("\nA tenth of a second later the receiver calls recv() once, and gets\n")
        print(f"    {receiver.recv(1000)!r}")
        print("\nThree messages in one read, and nothing says where one of them ends.")
        print(f"Now the sender sends one message of {MIB:,} bytes. The receiver calls")
        print("recv() until it has all of it, and gets\n")
        sizes = _sizes_received(sender, receiver, MIB)
        print(f"    {sum_of(sizes)}")
        reads = counted(len(sizes), "read")
        print(f"\nbytes: one message in {reads}. The kernel decides their sizes.")


def _connected_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = socket.create_connection(listener.getsockname())
        return sender, listener.accept()[0]


def _sizes_received(sender: socket.socket, receiver: socket.socket, size: int) -> list[int]:
    """Sends one message of `size` bytes; how many of them each recv() returned."""
    thread = threading.Thread(target=sender.sendall, args=(bytes(size),), daemon=True)
    thread.start()
    sizes: list[int] = []
    while sum(sizes) < size:
        sizes.append(len(receiver.recv(size)))
    thread.join()
    return sizes


def sum_of(sizes: list[int]) -> str:
    """`10 + 2`; of more than five, the first ones."""
    shown = " + ".join(f"{size:,}" for size in sizes[:5])
    return shown + (" + ..." if len(sizes) > 5 else "")
