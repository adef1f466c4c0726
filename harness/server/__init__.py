"""One server as a process: built, started, limited, drained, and certainly ended.

    linux/    what the kernel reports and does, and no policy of ours
    preload/  C in the process of a server, which counts, records and disturbs its system calls
    steps/    C that is linked with a server, and counts its steps
"""
