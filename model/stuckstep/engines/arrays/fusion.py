"""Operations drawn together for an interpreter, which then stores and loads fewer results in between.

Only what one single other operation reads is drawn into it, and the order of the arithmetic stays: (a + b) + c becomes
one operation of three parts that adds a and b first. No bit changes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .operations import Operation, Program

LONGEST = 6  # terms of a sum in one operation
READ_BY_A_SHARE = 2  # how often a share reads the cash at hand
# Pairs that become one operation: what is drawn in, and which part of the other it is.
PAIRS: Mapping[tuple[str, str, int], str] = {
    ("multiply", "multiply", 0): "multiply multiply",  # a * b * c
    ("divide", "multiply", 0): "multiply divide",  # a * b / c
    ("add", "multiply", 0): "multiply add",  # a * b + c
    ("add", "multiply", 1): "add product",  # a + b * c
    ("subtract", "multiply", 1): "subtract product",  # a - b * c
    ("most", "subtract", 1): "most difference",  # max(a, b - c)
}
_NOTHING = Operation("number", (), 0.0)


def fuse(program: Program, varies: Sequence[bool]) -> Program:
    """The program with sums of up to LONGEST terms and the PAIRS as one operation each; a flag is its mask itself.

    A sum's leaf holds its signs: bit n - 1 is set where term n is subtracted. Only what varies is drawn together.
    """
    real = {place: _mask_of(place, program, varies) for place in range(len(program.operations))}
    operations = [
        _NOTHING if real[place] != place else Operation(one.operator, tuple(real[part] for part in one.parts), one.leaf)
        for place, one in enumerate(program.operations)
    ]
    places = {line: real[place] for line, place in program.places.items()}
    openings = {last: real[place] for last, place in program.openings.items()}
    nexts = {last: real[place] for last, place in program.nexts.items()}
    readers = Counter(part for one in operations for part in one.parts)
    readers.update([*(places[line] for line in program.kept), *openings.values(), *nexts.values()] * 2)
    for place, one in enumerate(operations):
        if varies[place]:
            static = program.kinds[place] == "static"
            near = [readers[p] == 1 and varies[p] and (program.kinds[p] == "static") == static for p in one.parts]
            operations[place] = _share(one, operations, near, readers) or _drawn_together(one, operations, near, varies)
    return replace(program, operations=tuple(operations), places=places, openings=openings, nexts=nexts)


def _mask_of(place: int, program: Program, varies: Sequence[bool]) -> int:
    """Where the mask stands that a varying flag is made of; else the place itself."""
    one = program.operations[place]
    return one.parts[0] if one.operator == "flag" and varies[place] else place


def _share(
    one: Operation, operations: Sequence[Operation], near: Sequence[bool], readers: Mapping[int, int]
) -> Operation | None:
    """The share of a rank, five operations of the waterfall: IF(wanted <= held + near, all, held / wanted).

    Its parts are cash, wanted, near and all, where held is MAX(0, cash).
    """
    if one.operator != "choose" or not near[0] or not near[2]:
        return None
    test, part = operations[one.parts[0]], operations[one.parts[2]]
    if test.operator != "upto" or part.operator != "ratio" or test.parts[0] != part.parts[1]:
        return None
    reach, held = operations[test.parts[1]], part.parts[0]
    if reach.operator != "add" or reach.parts[0] != held or readers[test.parts[1]] > 1:
        return None
    most = operations[held]
    if most.operator != "most" or operations[most.parts[0]] != Operation("number", (), 0.0):
        return None
    # the largest of zero and what is zero or more is itself, so what others read as well is worked here once more
    cash = most.parts[1] if readers[held] == READ_BY_A_SHARE else held
    return Operation("share", (cash, test.parts[0], reach.parts[1], one.parts[1]), None)


def _drawn_together(
    one: Operation, operations: Sequence[Operation], near: Sequence[bool], varies: Sequence[bool]
) -> Operation:
    """The operation with one of its parts drawn in, where `near` says that it may be."""
    if one.operator == "divide" and near[0] and not varies[one.parts[1]]:
        first = operations[one.parts[0]]
        if first.operator == "multiply multiply" and not varies[first.parts[1]] and not varies[first.parts[2]]:
            return Operation("scale", (*first.parts, one.parts[1]), None)
    if one.operator in ("add", "subtract") and near[0]:
        first = operations[one.parts[0]]
        if first.operator in ("add", "subtract", "sum") and len(first.parts) < LONGEST:
            signs = int(first.leaf or 0) if first.operator == "sum" else int(first.operator == "subtract")  # type: ignore[arg-type]
            signs |= int(one.operator == "subtract") << (len(first.parts) - 1)
            return Operation("sum", (*first.parts, one.parts[1]), float(signs))
    for position, may in enumerate(near[:2]):
        inner = operations[one.parts[position]]
        name = PAIRS.get((one.operator, inner.operator, position))
        if may and name:
            parts = [*one.parts[:position], *inner.parts, *one.parts[position + 1 :]]
            return Operation(name, tuple(parts), None)
    return one
