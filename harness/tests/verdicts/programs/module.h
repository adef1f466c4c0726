int module(const char *what);
int module_touch(const unsigned char *byte);
