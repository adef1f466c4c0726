"""Units of what is counted in bytes."""

KIB = 1 << 10
MIB = 1 << 20
MB = 1_000_000
