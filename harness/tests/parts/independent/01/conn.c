void conn_serve(int fd)
{
    uint8_t *block = NULL;
    const char *text = "server stops";
    for (;;) {
        uint8_t head[FRAME_HEADER_BYTES];
        uint32_t body;
        if (stop_requested())
            break;
        enum io_result got = io_read_full(fd, head, FRAME_HEADER_BYTES);
        if (got == IO_EOF || got == IO_ERROR) {
            text = reason_for(got);
            break;
        } else if (frame_length(head, &body) == false) {
            text = "the length is over the maximum";
            break;
        }
        free(block);
        block = calloc(1, sizeof(head) + body);
        if (!block) {
            text = strerror(ENOMEM);
            break;
        }
        for (int i = 0; i < FRAME_HEADER_BYTES; i++)
            block[i] = head[i];
        const char *end = echo_body(fd, block, body);
        if (end) {
            text = end;
            break;
        }
        free(block);
        block = NULL;
    }
    free(block);
    log_line("fd %d: closed: %s", fd, text);
}
