"""Reads the lines as arrays: all scenarios at once, period by period.

The lines become one generated numpy function. Static lines have the shape (scenario,), or none where no scenario differs;
lines without cash are worked for all periods at once; only the lines with cash go through the loop over periods. Every
operation is elementwise and in the order the expression states, so a scenario alone gives the bits it gives in a batch.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stuckstep.deal import Cell
from stuckstep.rules.expression import Node
from stuckstep.rules.lines import Line, Lines

Array = NDArray[np.float64]
CHUNK = 2000  # scenarios worked at a time: their arrays stay in the processor's cache


class Clock(NamedTuple):
    """The periods' first days and those of the next periods, as spreadsheet serials of shape (period,)."""

    first_day: Array
    next_first_day: Array


@dataclass(frozen=True)
class Program:
    """The generated code of some lines, what it reads and what it keeps."""

    source: str
    code: CodeType
    inputs: tuple[Cell, ...]
    bases: tuple[Cell, ...]
    kept: tuple[str, ...]
    static: frozenset[str]


def translate(lines: Lines, keep: Iterable[str] | None = None) -> Program:
    """The program that works out the lines named in `keep` (all of them by default) and all that these read."""
    kept = tuple(lines) if keep is None else tuple(dict.fromkeys(keep))
    writer = _Writer(lines, kept)
    source = writer.write(_needed(lines, kept))
    static = frozenset(name for name in kept if lines[name].kind == "static")
    code = compile(source, "<lines>", "exec")
    return Program(source, code, tuple(writer.inputs), tuple(writer.bases), kept, static)


def evaluate(
    program: Program,
    value: Callable[[Cell], Array],
    base_value: Callable[[Cell], float],
    clock: Clock,
    scenarios: int,
) -> dict[str, Array]:
    """What each kept line gives: shape (scenario,) for a static line, (period, scenario) for the others.

    `value` gives an input's value by scenario, `base_value` its value in the base sheets.
    """
    periods = len(clock.first_day)
    out = {
        name: np.empty(scenarios if name in program.static else (periods, scenarios), dtype=np.float64)
        for name in program.kept
    }
    inputs = [value(cell) for cell in program.inputs]
    bases = [np.float64(base_value(cell)) for cell in program.bases]
    namespace: dict[str, Any] = dict(_FUNCTIONS)
    exec(program.code, namespace)
    for start in range(0, scenarios, CHUNK):
        part = slice(start, start + CHUNK)
        views = [array[..., part] for array in out.values()]
        namespace["run"](_narrow(inputs, part), bases, clock.first_day, clock.next_first_day, views)
    return out


def _narrow(inputs: Sequence[Array], part: slice) -> list[Any]:
    """Each input's values in a chunk; one number where they are all equal, so that it is worked once for all."""
    chunk = [array[part] for array in inputs]
    return [values[0] if (values == values[0]).all() else values for values in chunk]


def _needed(lines: Lines, kept: Iterable[str]) -> list[Line]:
    """The kept lines and all they read, in order."""
    found: set[str] = set()
    waiting = list(kept)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        line = lines[name]
        nodes = [*line.value.walk(), *(line.opening.walk() if line.opening is not None else ())]
        waiting += [str(node.leaf) for node in nodes if node.operator in ("line", "last")]
    return [line for name, line in lines.items() if name in found]


class _Writer:
    """Writes one function: `v` holds a line, `x` a line without cash in this period, `p` a line one period earlier."""

    def __init__(self, lines: Lines, kept: Sequence[str]) -> None:
        self.lines = lines
        self.number = {name: position for position, name in enumerate(lines)}
        self.kept = {name: position for position, name in enumerate(kept)}
        self.inputs: dict[Cell, int] = {}
        self.bases: dict[Cell, int] = {}
        self.lists: dict[tuple[str, ...], int] = {}
        self.read_in_loop: dict[str, None] = {}
        self.read_before: dict[str, None] = {}
        self.parts: dict[str, list[str]] = {"static": [], "time": [], "cash": []}
        self.kind = "static"

    def write(self, needed: Sequence[Line]) -> str:
        for line in needed:
            self.kind = line.kind
            code = self.expression(line.value)
            body = self.parts[line.kind]
            body.append(f"v{self.number[line.name]} = {code}")
            if line.name in self.kept:
                index = "[t]" if line.kind == "cash" else "[...]"
                body.append(f"out[{self.kept[line.name]}]{index} = v{self.number[line.name]}")
        return "\n".join(self._assembled())

    def _assembled(self) -> Iterable[str]:
        self.kind = "static"
        openings = [f"p{self.number[name]} = {self._opening(name)}" for name in self.read_before]
        yield "def run(inputs, bases, first_days, next_first_days, out):"
        reads = [f"i{position} = inputs[{position}]" for position in self.inputs.values()]
        reads += [f"b{position} = bases[{position}]" for position in self.bases.values()]
        reads += ["horizon = next_first_days[-1]"]
        columns = ["first_day = first_days[:, None]", "next_first_day = next_first_days[:, None]"]
        clocks = [*columns, "days = next_first_day - first_day"]
        yield from ("    " + row for row in [*reads, *self.parts["static"], *clocks, *self.parts["time"], *openings])
        yield "    for t in range(len(first_days)):"
        today = [
            "first_day = first_days[t]",
            "next_first_day = next_first_days[t]",
            "days = next_first_day - first_day",
        ]
        today += [f"x{self.number[name]} = v{self.number[name]}[t]" for name in self.read_in_loop]
        tomorrow = [f"p{self.number[name]} = v{self.number[name]}" for name in self.read_before]
        yield from ("        " + row for row in [*today, *self.parts["cash"], *tomorrow])

    def _opening(self, name: str) -> str:
        opening = self.lines[name].opening
        return "0.0" if opening is None else self.expression(opening)

    def expression(self, node: Node) -> str:
        parts = [self.expression(part) for part in node.parts] if node.operator not in ("choose", "pick") else []
        match node.operator:
            case "number":
                return repr(node.leaf)
            case "input" | "base":
                return self._input(node)
            case "clock":
                return str(node.leaf)
            case "line":
                return self._line(str(node.leaf))
            case "last":
                self.read_before[str(node.leaf)] = None
                return f"p{self.number[str(node.leaf)]}"
            case "choose":
                condition, then, otherwise = node.parts
                test = self._comparison(condition) or f"({self.expression(condition)} != 0.0)"
                return f"where({test}, {self.expression(then)}, {self.expression(otherwise)})"
            case "below" | "upto":
                return f"({self._comparison(node)} * 1.0)"
            case "pick":
                return self._pick(node)
            case "least" | "most":
                return self._nested("minimum" if node.operator == "least" else "maximum", parts)
            case "ratio" | "whole" | "month":
                return f"{node.operator}({', '.join(parts)})"
            case "add" | "subtract" | "multiply" | "divide":
                left = parts[0][1:-1] if node.parts[0].operator in _CHAINS[node.operator] else parts[0]
                return f"({left} {_SIGNS[node.operator]} {parts[1]})"
        raise ValueError(f"the array reader cannot express {node.operator}")

    def _comparison(self, node: Node) -> str | None:
        if node.operator not in ("below", "upto"):
            return None
        left, right = (self.expression(part) for part in node.parts)
        return f"({left} {'<' if node.operator == 'below' else '<='} {right})"

    def _nested(self, function: str, parts: Sequence[str]) -> str:
        result = parts[0]
        for part in parts[1:]:
            result = f"{function}({result}, {part})"
        return result

    def _input(self, node: Node) -> str:
        assert isinstance(node.leaf, Cell)
        table, letter = (self.inputs, "i") if node.operator == "input" else (self.bases, "b")
        return f"{letter}{table.setdefault(node.leaf, len(table))}"

    def _line(self, name: str) -> str:
        if self.kind == "cash" and self.lines[name].kind == "time":
            self.read_in_loop[name] = None
            return f"x{self.number[name]}"
        return f"v{self.number[name]}"

    def _pick(self, node: Node) -> str:
        """Lists are of static lines, so they are stacked once, before anything with a period."""
        position, *choices = node.parts
        names = tuple(str(choice.leaf) for choice in choices)
        if names not in self.lists:
            self.lists[names] = len(self.lists)
            stacked = ", ".join(f"v{self.number[name]}" for name in names)
            self.parts["static"].append(f"l{self.lists[names]} = stack({stacked})")
        return f"pick({self.expression(position)}, l{self.lists[names]})"


def _ratio(left: Any, right: Any) -> Any:
    positive = right > 0.0
    return np.where(positive, left / np.where(positive, right, 1.0), 0.0)


def _month(date: Any) -> Any:
    """YEAR x 12 + MONTH of a spreadsheet serial (day 25569 is 1970-01-01, whose month is 23641)."""
    days = (np.asarray(date) - 25569.0).astype("datetime64[D]")
    return days.astype("datetime64[M]").astype(np.int64) + 23641.0


def _stack(*values: Any) -> Any:
    return np.stack(np.broadcast_arrays(*values))


def _pick(position: Any, values: Any) -> Any:
    index = np.asarray(position).astype(np.intp)
    return values[index] if values.ndim == 1 else values[index, np.arange(values.shape[1])]


_SIGNS: Mapping[str, str] = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
# Long sums stand without a bracket for each term, which Python would not parse; the order stays left to right.
_CHAINS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "subtract"), ("add", "subtract")),
    **dict.fromkeys(("multiply", "divide"), ("multiply", "divide")),
}
_FUNCTIONS: Mapping[str, Any] = {
    "where": np.where,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "whole": np.floor,
    "ratio": _ratio,
    "month": _month,
    "stack": _stack,
    "pick": _pick,
}
