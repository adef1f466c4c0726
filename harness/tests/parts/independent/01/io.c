enum io_result io_read_full(int fd, void *data, size_t size)
{
    size_t have = 0;
    for (; have < size;) {
        ssize_t got = recv(fd, (char *)data + have, size - have, 0);
        switch (got) {
        case 0:
            return IO_EOF;
        case -1:
            if (errno != EINTR)
                return IO_ERROR;
            break;
        default:
            have += got;
        }
    }
    return IO_OK;
}

enum io_result io_write_all(int fd, const void *data, size_t size)
{
    const char *from = data, *const last = from + size;
    while (from != last) {
        ssize_t done;
        do
            done = send(fd, from, (size_t)(last - from), MSG_NOSIGNAL);
        while (done == -1 && errno == EINTR);
        if (done == -1)
            return IO_ERROR;
        from += done;
    }
    return IO_OK;
}
