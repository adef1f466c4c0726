"""Chapter 11, operations by themselves: how they begin, complete, are cancelled, and what they use.

Most programs have a ring of the grader's own, in which operations complete late, in parts, or not at
all, as the check wants it: see programs/fake_ring.h. The others run on the kernel's.
"""

from __future__ import annotations

from harness.grading.plugin import claim

# What a general hint means in a claim, see plugin.claim.
BROKEN = ("in-the-module", "module-crashed", "memory-fault", "module-refuses")
OPERATION = dict.fromkeys(BROKEN, "ring-operation")
FULL = dict.fromkeys(BROKEN, "ring-full")
LENT = dict.fromkeys(BROKEN, "lent-buffer")


# 11.1 operation


@claim("11.1", points=6, module=True, native=True, needs="io_uring", hints=OPERATION)
def test_11_operations_complete(program):
    """One call hands over what was begun and waits; each completion reaches its operation, once."""
    program("11_ring", "operations")


@claim("11.1", points=3, module=True, native=True, needs="io_uring", hints=FULL)
def test_11_rings_are_full(program):
    """More operations than a ring holds are all submitted, in order, and all complete."""
    program("11_ring", "full")


# 11.2 lent


@claim("11.2", points=6, module=True, native=True, needs="io_uring", hints=LENT)
def test_11_buffers_are_lent(program):
    """Every buffer is lent, is found by its number, and is lent again after lent_return()."""
    program("11_lent", "lends")
