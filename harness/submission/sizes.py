"""Sizes in bytes, with the names that texts give them: KiB and MiB, and MB for a round million."""

KIB = 1 << 10
MIB = 1 << 20
MB = 1_000_000
