bool frame_length(const uint8_t header[FRAME_HEADER_BYTES], uint32_t *length)
{
    uint32_t sum = 0;
    int i = FRAME_HEADER_BYTES;
    do {
        i--;
        sum = sum * 256 + header[i];
    } while (i > 0);
    *length = sum;
    if (sum > FRAME_MAX_BYTES)
        return false;
    return true;
}
