"""disturbed.py FUNCTION TIMES [blocking | dup]: connects to itself, and makes this call again and
again on the accepted end, connection 0, for 4 bytes each, while a schedule disturbs it. The other
end has sent "abcdefghijkl". Or it asks for a MiB of memory so often. Prints what was read, the
number that was returned, 0 for memory, or the error; at last what has arrived. For test_shim.py."""

import ctypes
import errno
import os
import select
import signal
import socket
import struct
import sys

signal.signal(signal.SIGPIPE, signal.SIG_DFL)
name, times, how = sys.argv[1], int(sys.argv[2]), "".join(sys.argv[3:])
listener = socket.create_server(("127.0.0.1", 0))
far = socket.create_connection(listener.getsockname())
libc = ctypes.CDLL(None, use_errno=True)  # which does not call again after EINTR, as Python does
near = libc.accept(listener.fileno(), None, None)
if how == "dup":
    first, near = near, os.dup(near)
    os.close(first)
data = ctypes.create_string_buffer(4)
far.sendall(b"abcdefghijkl")
libc.recv(near, data, 1, socket.MSG_PEEK)  # waits until the bytes are there
os.set_blocking(near, how == "blocking")
start = ctypes.addressof(data)
parts = (ctypes.c_size_t * 4)(start, 1, start + 1, 3)
message = (ctypes.c_size_t * 7)(0, 0, ctypes.addressof(parts), 2)
epoll = select.epoll()
epoll.register(near, select.EPOLLIN)
watched = (ctypes.c_ulong * 16)()
CALLS = {
    **dict.fromkeys(("read", "write"), (near, data, 4)),
    **dict.fromkeys(("readv", "writev"), (near, parts, 2)),
    **dict.fromkeys(("recv", "send"), (near, data, 4, socket.MSG_NOSIGNAL)),
    **dict.fromkeys(("recvfrom", "sendto"), (near, data, 4, socket.MSG_NOSIGNAL, None, None)),
    **dict.fromkeys(("recvmsg", "sendmsg"), (near, message, socket.MSG_NOSIGNAL)),
    "peek": (near, data, 4, socket.MSG_PEEK),
    "poll": (struct.pack("ihh", near, 1, 0), 1, 10),
    "ppoll": (struct.pack("ihh", near, 1, 0), 1, (ctypes.c_long * 2)(0, 10_000_000), None),
    "select": (near + 1, watched, None, None, (ctypes.c_long * 2)(0, 10_000)),
    "epoll_wait": (epoll.fileno(), ctypes.create_string_buffer(12), 1, 10),
    "accept": (listener.fileno(), None, None),
    "accept4": (listener.fileno(), None, None, 0),
    "close": (near,),
    "malloc": (1 << 20,),
    "calloc": (1 << 10, 1 << 10),
    "realloc": (None, 1 << 20),
    "reallocarray": (None, 1 << 10, 1 << 10),
}
if "alloc" in name:
    getattr(libc, name).restype = lambda block: 0 if block else -1  # NULL is its error
reads = name in ("read", "readv", "recv", "recvfrom", "recvmsg", "peek")
for _ in range(times):
    watched[near // 64] = 1 << near % 64
    data.raw = b"wxyz"
    if name.startswith("accept"):
        socket.create_connection(listener.getsockname()).detach()
    result = getattr(libc, "recv" if name == "peek" else name)(*CALLS[name])
    failed = errno.errorcode[ctypes.get_errno()] if result < 0 else ""
    said = data.raw[:result].decode() if reads else result if "acc" not in name else "fd"
    print(failed or said, end=" ")
room = ctypes.create_string_buffer(64)
size = libc.recv(far.fileno(), room, 64, socket.MSG_DONTWAIT)
print(room.raw[: max(size, 0)].decode())
