"""Chapter 12, modules by themselves: the parser of requests, and the hash table.

What a call costs is counted, and not timed: the table says what it has moved, and the program looks
at its entries before and after each call.
"""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.cost import ALIKE, GROWTH, HOPELESS_TRIES, TOO_CHEAP, grows
from harness.feedback.failure import Failure

SANITIZERS = "address,undefined"
FEW_KEYS = 2_000  # where steps are counted; a chain of 64 keys in each bucket takes 3 times as many
KEYS, TIMES = 20_000, 4  # for CPU time: keys, and how many times as many in the second measurement

# What a general hint means in a claim, see marker.claim.
BROKEN = ("in-the-module", "module-crashed", "memory-fault", "module-refuses")
PARSER = dict.fromkeys(BROKEN, "resp-parser")
ONCE = dict.fromkeys(BROKEN, "resp-looks-twice")
REFUSED = dict.fromkeys((*BROKEN, "resp-looks-twice"), "resp-refused")
TABLE = dict.fromkeys(BROKEN, "dict-loses")
MOVES = dict.fromkeys(BROKEN, "dict-moves")
PIECES = dict.fromkeys(BROKEN, "dict-pieces")
REFUSES = dict.fromkeys((*BROKEN, "dict-loses"), "dict-memory")
SCANS = dict.fromkeys(BROKEN, "dict-scan")


# 12.1 parser


@claim("12.1", points=4, module=True, hints=PARSER)
def test_12_requests_in_pieces(program):
    """Requests cut in one, two or many pieces are found when they are complete, and not before."""
    program("12_resp", "pieces")
    program("12_resp", "together", sanitize=SANITIZERS)


@claim("12.1", points=3, module=True, native=True, hints=ONCE)
def test_12_nothing_is_looked_at_twice(program):
    """The parser goes on where it has stopped, and takes no memory for what is only declared."""
    program("12_resp", "arguments_once", "lines_once", "declared")


@claim("12.1", points=3, module=True, hints=REFUSED)
def test_12_what_is_no_request(program):
    """Counts, lengths and lines that are wrong or too long are refused when they have come."""
    program("12_resp", "refuses", "refuses_long_lines", "refuses_much")


# 12.3 table


@claim("12.3", points=3, module=True, hints=TABLE)
def test_12_table_loses_nothing(program):
    """While the table grows and shrinks each of its keys is found, and no other."""
    program("12_dict", "finds", "grows_and_shrinks")


@claim("12.3", points=1, module=True, native=True, hints=REFUSES)
def test_12_table_without_memory(program):
    """If there is no memory for a table nothing is lost, and later there may be memory again."""
    program("12_dict", "without_memory")


@claim("12.3", points=4, module=True, hints=MOVES)
def test_12_no_call_pays_for_a_rehash(program):
    """No call moves more than some entries, whether the table grows, shrinks, or stays as it is."""
    program("12_dict", "moves", "border", "each_call")


@claim("12.3", points=2, module=True, native=True, hints=MOVES)
def test_12_table_gives_memory_back(program):
    """After most keys were removed the table is small again."""
    program("12_dict", "shrinks")


@claim("12.3", points=2, module=True, native=True, hints=PIECES)
def test_12_table_comes_and_goes_in_pieces(program):
    """No call gives back much of a table's memory, or is the first to use much of it."""
    program("12_dict", "pieces")


@claim("12.3", points=3, module=True, hints=SCANS)
def test_12_scan_visits_each_key(program):
    """SCAN visits each key that stays, though the table grows or shrinks between two calls."""
    program("12_dict", "scans")


@claim("12.3", points=2, module=True, native=True)
def test_12_more_keys_cost_no_more_each(program):
    """A key among many takes about as much work as one among few: the buckets stay short."""
    counted = program("12_dict", "cost", steps=True, keys=FEW_KEYS)
    if "steps" in counted:
        grows(
            lambda keys: program("12_dict", "cost", steps=True, keys=keys)["steps"],
            FEW_KEYS,
            "{:,} keys",
            GROWTH,
            "dict-cost",
        )
        return
    for _ in range(HOPELESS_TRIES):
        few = program("12_dict", "cost", keys=KEYS)["seconds"]
        many = program("12_dict", "cost", keys=TIMES * KEYS)["seconds"]
        if many <= ALIKE * TIMES * max(few, TOO_CHEAP):
            return
    text = f"{TIMES * KEYS:,} keys cost {many:.2f} s of CPU, and {KEYS:,} {few:.2f} s"
    raise Failure(text, hint="dict-cost")
