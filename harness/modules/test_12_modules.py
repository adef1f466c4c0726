"""Chapter 12, modules by themselves: the parser of requests, and the hash table.

What a call costs is counted, and not timed: the table says what it has moved, and the program looks
at its entries before and after each call.
"""

from __future__ import annotations

from harness.claims.marker import claim

SANITIZERS = "address,undefined"

# What a general hint means in a claim, see marker.claim.
BROKEN = ("in-the-module", "module-crashed", "memory-fault", "module-refuses")
PARSER = dict.fromkeys(BROKEN, "resp-parser")
ONCE = dict.fromkeys(BROKEN, "resp-looks-twice")
TABLE = dict.fromkeys(BROKEN, "dict-loses")
MOVES = dict.fromkeys(BROKEN, "dict-moves")
PIECES = dict.fromkeys(BROKEN, "dict-pieces")
REFUSES = dict.fromkeys((*BROKEN, "dict-loses"), "dict-memory")


# 12.1 parser


@claim("12.1", module=True, hints=PARSER)
def test_12_requests_in_pieces(program):
    """Requests cut in one, two or many pieces are found when they are complete, and not before."""
    program("12_resp", "pieces")
    program("12_resp", "together", sanitize=SANITIZERS)


@claim("12.1", module=True, hints=ONCE)
def test_12_nothing_is_looked_at_twice(program):
    """The parser goes on where it has stopped, and looks at no byte again."""
    program("12_resp", "arguments_once", "lines_once")


# 12.3 table


@claim("12.3", fatal="bytes", module=True, hints=TABLE)
def test_12_table_loses_nothing(program):
    """While the table grows and shrinks each of its keys is found, and no other."""
    program("12_dict", "finds")


@claim("12.3", module=True, hints=REFUSES)
def test_12_table_without_memory(program):
    """If there is no memory for a table nothing is lost, and later there may be memory again."""
    program("12_dict", "without_memory")


@claim("12.3", module=True, hints=MOVES)
def test_12_no_call_pays_for_a_rehash(program):
    """No call moves more than some entries, whether the table grows, shrinks, or stays as it is."""
    program("12_dict", "moves", "border")


@claim("12.3", module=True, hints=MOVES)
def test_12_table_gives_memory_back(program):
    """After most keys were removed the table is small again."""
    program("12_dict", "shrinks")


@claim("12.3", module=True, native=True, hints=PIECES)
def test_12_table_comes_and_goes_in_pieces(program):
    """No call gives back much of a table's memory, or is the first to use much of it."""
    program("12_dict", "pieces")
