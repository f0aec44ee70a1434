"""Which lines flow: those whose sum over several periods means something."""

from stuckstep.rules.lines import Line

FLOWS = frozenset({
    *("billed", "payable", "collected", "prepaid", "due", "late", "paid", "draw", "repaid", "net", "cfads", "open"),
    *("broken", "alert", "undrawn fee", "on balance", "paid in", "paid out", "puts in", "debt service", "dates here"),
})  # fmt: skip


def has_total(line: Line) -> bool:
    """Whether a line is a flow or a flag, so that its sum over the periods means something."""
    return line.item in FLOWS or line.item.endswith((" paid", " allowed", " error"))


def is_flow(line: Line) -> bool:
    """Whether a line is an amount that flows, so that a quarter's is the sum of its months'."""
    return line.unit == "money" and has_total(line)
