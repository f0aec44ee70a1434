"""What a row of dated flows is worth (npv) and earns (irr), for thousands of rows at once.

Conventions, those of a spreadsheet's XNPV and XIRR: actual/365 whatever the calendar says (a leap year is 366/365 of a
year), annual effective rates, and a flow dated `at` is not discounted. The spreadsheet's NPV() is another thing: it
discounts the first flow by a whole period. Where a spreadsheet's XIRR shows 0.00000298%, it has failed; the rate here
does bring the npv to zero.

A *lane* is one row of flows (one party in one scenario). Every step is the same sequence of additions for a lane alone
and for a lane among thousands, so its result does not depend, to the last bit, on its company.

Rates are searched as x = log(1 + rate): the npv is then a sum of exponentials, sum(flow * exp(-x * years)), and by
Descartes' rule has at most as many roots as the flows change sign. That decides the method: none, one, or the ladder.
"""

import math
import sys
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Side = list[tuple[Floats, bool]]  # the flows of one sign by day, and whether any lane has one that day
LookOver = Callable[[Floats], tuple[Floats, Flags, Flags, bool]]
OnlyRoot = Callable[[Floats, Floats], Floats]

YEAR = 365.0
GUESS = 0.1  # a spreadsheet starts XIRR here, so of several rates its user expects the nearest one
START = float(np.log1p(GUESS))
NEAR = 1.0  # log of how much one step between flows may discount where a root is searched without a bracket
SERIES = tuple(1.0 / math.factorial(power) for power in range(18, -1, -1))  # of exp, for what is not above NEAR
ROUNDS = 8  # after which a lane takes the ladder
CLOSE = 1e-10, 1e-16  # a correction of x, and what is missing after it, that are small enough
LOWEST, HIGHEST = -36.0, float(np.log1p(1e9))  # log(1 + rate): from 2e-16 above -100% to 1e9; beyond means nothing
DUST = 1e-12  # of a lane's largest flow: what adding and subtracting large amounts leaves behind
ROUNDING = float(np.finfo(float).eps)
NOISE = 8 * ROUNDING  # of the gross present value: a net one below it is zero
SAME = 1e-7  # two roots closer than this in log(1 + rate) are one that is touched, not crossed
CHUNK = 8192  # lanes at a time, so that the working rows stay near the processor
TINY = float(np.finfo(float).tiny)

# A reason is the number of rates that were found where there is any, else one of these.
NO_FLOWS, ONE_SIGN, NO_ROOT, OUT_OF_RANGE, NOT_FINITE = 0, -1, -2, -3, -4
REASONS = {
    NO_FLOWS: "none: no flows",
    ONE_SIGN: "none: all flows are of one sign",
    NO_ROOT: "none: no rate brings the npv to zero",
    OUT_OF_RANGE: "none: the rate is not above -100% or exceeds 1e9, which means nothing",
    NOT_FINITE: "none: a flow is not a number",
}


def npv(flows: ArrayLike, dates: ArrayLike, rate: ArrayLike, at: float, axis: int = 0) -> Floats:
    """Present value at the day `at`: the sum of flow / (1 + rate) ** ((date - at) / 365).

    flows: (period, ...), or the periods along `axis`. dates: (period,), serial days, any order. rate: annual
    effective, one number or anything that broadcasts against the other axes of flows. Returns their shape, in the
    unit of the flows; NaN where a rate is not above -1.
    """
    rows, days = _rows(flows, dates, axis)
    growth = 1.0 + np.asarray(rate, dtype=float)
    growth = np.where(growth > 0, growth, np.nan)
    worth = np.zeros(np.broadcast_shapes(rows.shape[1:], growth.shape))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for row, day in zip(rows, days, strict=True):
            worth += np.where(row == 0, 0.0, row / np.power(growth, (day - at) / YEAR))
    return worth


def irr(flows: ArrayLike, dates: ArrayLike, axis: int = 0, *, compiled: bool | None = None) -> tuple[Floats, Ints]:
    """Annual effective rate that brings the npv to zero, and the reason: XIRR for any number of lanes.

    flows: (period, ...), or the periods along `axis`; any unit of money. dates: (period,), serial days, any order;
    `365 * np.arange(n)` gives the rate per period (the spreadsheet's IRR). Returns rate and reason, both in the
    shape of the other axes. reason is how many rates were found between -100% and 1e9 (1: the usual case); of several,
    rate is the one nearest to 10%, measured on log(1 + rate). Where there is none, rate is NaN and reason a key of
    REASONS; `reason_text` puts it in words. Flows below 1e-12 of their lane's largest count as nothing. compiled:
    whether numba works it, which gives the same bits sooner; by default where something else has loaded numba.
    """
    fast = "numba" in sys.modules if compiled is None else compiled
    rows, days = _rows(flows, dates, axis)
    shape = rows.shape[1:]
    rows, days = _by_day(rows.reshape(len(rows), math.prod(shape)), days - days[:1])
    rate = np.full(rows.shape[1], np.nan)
    reason = np.zeros(rows.shape[1], dtype=np.int64)
    for start in range(0, rows.shape[1], CHUNK):
        part = slice(start, start + CHUNK)
        rate[part], reason[part] = _irr(np.ascontiguousarray(rows[:, part]), days, fast)
    return rate.reshape(shape), reason.reshape(shape)


def reason_text(reason: ArrayLike) -> NDArray[np.str_]:
    """The reasons of `irr` in words, in the same shape: `ok` for one rate, else what is the matter."""
    codes, where = np.unique(np.asarray(reason, dtype=np.int64), return_inverse=True)
    words = np.array([_words(int(code)) for code in codes] or [""])
    return words[where].reshape(np.shape(reason))


def _words(reason: int) -> str:
    if reason == 1:
        return "ok"
    if reason > 1:
        return f"more than one: {reason} rates bring the npv to zero; this is the one nearest to 10%"
    return REASONS[reason]


def _rows(flows: ArrayLike, dates: ArrayLike, axis: int) -> tuple[Floats, Floats]:
    rows = np.moveaxis(np.asarray(flows, dtype=float), axis, 0)
    days = np.asarray(dates, dtype=float)
    if days.shape != rows.shape[:1]:
        raise ValueError(f"dates must be one per period: {rows.shape[0]} periods, dates of shape {days.shape}")
    return rows, days


def _by_day(rows: Floats, days: Floats) -> tuple[Floats, Floats]:
    """Rows in the order of time, one per day."""
    if np.all(np.diff(days) > 0):
        return rows, days
    distinct, where = np.unique(days, return_inverse=True)
    merged = np.zeros((len(distinct), rows.shape[1]))
    for row, day in zip(rows, where, strict=True):
        merged[day] += row
    return merged, distinct - distinct[:1]


def _irr(rows: Floats, days: Floats, compiled: bool) -> tuple[Floats, Ints]:
    look_over, only_root = _tools(compiled)
    largest, once, often, dusty = look_over(rows)
    if dusty:
        rows = np.where(np.abs(rows) > largest * DUST, rows, 0.0)
    if once.all():
        count, root = np.ones(once.shape, dtype=np.int64), only_root(rows, days)
    else:
        count = np.where(np.isfinite(largest), np.where(largest > 0, ONE_SIGN, NO_FLOWS), NOT_FINITE)
        root = np.full(largest.shape, np.nan)
        if once.any():
            count[once], root[once] = 1, only_root(rows[:, once], days)
    hard = np.flatnonzero(often | (once & np.isnan(root)))
    if hard.size:
        roots, changes = _all_roots(rows[:, hard] / largest[hard], days / YEAR, only_root)
        root[hard] = _nearest(roots)
        found = np.count_nonzero(~np.isnan(roots), axis=0)
        # roots and sign changes are both odd or both even: an odd one that was not found lies outside
        count[hard] = np.where(found > 0, found, np.where(changes % 2, OUT_OF_RANGE, NO_ROOT))
    return np.expm1(root), count


def _tools(compiled: bool) -> tuple[LookOver, OnlyRoot]:
    if not compiled:
        return _look_over, _only_root
    from . import discounting  # numba is slow to import

    return discounting.look_over, discounting.only_root


def _look_over(rows: Floats) -> tuple[Floats, Flags, Flags, bool]:
    """Each lane's largest flow, whether its flows change sign once, whether more often, and if there is any dust."""
    largest = np.maximum(rows.max(axis=0, initial=0.0), -rows.min(axis=0, initial=0.0))
    dust = largest * DUST  # nan or infinite where a flow is: then no flow is more
    comes, goes = rows > dust, rows < -dust
    came, went, forth, back = (np.zeros(comes.shape[1], dtype=bool) for _ in range(4))
    for plus, minus in zip(comes, goes, strict=True):
        forth |= plus & went
        back |= minus & came
        came |= plus
        went |= minus
    dusty = bool(np.count_nonzero(rows) > np.count_nonzero(comes) + np.count_nonzero(goes))
    return largest, forth ^ back, forth & back, dusty


def _parts(flows: Floats) -> tuple[Floats, Floats]:
    """What comes in and what goes out, both as positive amounts."""
    into = np.maximum(flows, 0.0)
    return into, into - flows


def _nearest(roots: Floats) -> Floats:
    """Of each lane's roots the one nearest to the guess; NaN where there is none."""
    roots = np.concatenate([roots, np.full((1, roots.shape[1]), np.nan)])
    distance = np.where(np.isnan(roots), np.inf, np.abs(roots - np.log1p(GUESS)))
    nearest: Floats = roots[distance.argmin(axis=0), np.arange(roots.shape[1])]
    return nearest


# One change of sign: one root. The balance log(in) - log(out) is almost a straight line in x, so a Newton step from the
# guess and one or two of inverse interpolation, through two points and their slopes, settle it. Only sums, products and
# quotients: another machine's exponential and logarithm have other last bits, and so have numba's. The ladder and the
# last step from x to a rate take numpy's, with numba and without.


def _only_root(rows: Floats, days: Floats) -> Floats:
    """The root of each lane; NaN for a lane that does not settle (the ladder takes it). `discounting` does the same."""
    years = np.diff(days) / YEAR
    far = reach(years)
    sides = [[(amounts, bool(amounts.any())) for amounts in side] for side in _parts(rows)]
    steps = years.tolist()

    def discounted(x: Floats) -> tuple[Floats, Floats]:
        factors = {step: _growth(x * -step) for step in set(steps)}
        (received, late), (spent, early) = (_worth_first_day(side, steps, factors) for side in sides)
        return _balance(received, late, spent, early)

    root = np.full(rows.shape[1], np.nan)
    with np.errstate(all="ignore"):
        before = np.full(rows.shape[1], min(START, far))
        there, inverse = discounted(before)
        x = _within(before - there * inverse, far)
        for _ in range(ROUNDS):
            here, turned = discounted(x)
            apart = here - there
            nearer = (x - before) / apart
            bend = (turned - nearer) / apart
            correction = here * here * (bend - there * ((bend - (nearer - inverse) / apart) / apart))
            exact, moved = np.abs(here) <= ROUNDING, np.abs(correction)
            after = x - here * turned + np.where(exact, 0.0, correction)
            # what is still missing is as much smaller than the correction as the square of the balance before
            close = exact | ((moved <= CLOSE[0]) & (moved * (there * there) <= CLOSE[1]))
            root = np.where(close & (np.abs(after) < far) & np.isnan(root), after, root)
            if not np.isnan(root).any():
                break
            before, there, inverse, x = x, here, turned, _within(after, far)
    return root


def reach(years: Floats) -> float:
    """How far from zero x is searched without a bracket, given the lengths of the steps between flows."""
    return min(NEAR / float(years.max(initial=TINY)), HIGHEST)


def _growth(y: Floats) -> Floats:
    """exp(y) for -NEAR <= y <= NEAR, to the last digit or two."""
    total = y * SERIES[0] + SERIES[1]
    for term in SERIES[2:]:
        total *= y
        total += term
    return total


def _balance(received: Floats, late: Floats, spent: Floats, early: Floats) -> tuple[Floats, Floats]:
    """Nearly half of log(in / out), by the first terms of its series, and one over its slope by x."""
    gross = received + spent
    part = (received - spent) / gross
    square = part * part
    slope = 2.0 * (received * early - spent * late) / (gross * gross)
    return part * (1.0 + square * (1.0 / 3.0 + square * 0.2)), 1.0 / (slope * (1.0 + square * (1.0 + square)))


def _within(x: Floats, far: float) -> Floats:
    return np.minimum(np.maximum(x, -far), far)


def _worth_first_day(side: Side, years: list[float], factors: Mapping[float, Floats]) -> tuple[Floats, Floats]:
    """Present value on the first day of one side, and the same weighted by the years until then, by Horner's rule."""
    amounts, begun = side[-1]
    value, dated = amounts.copy(), np.zeros_like(amounts)
    for (amounts, there), step in zip(side[-2::-1], years[::-1], strict=True):
        if begun:
            dated += value * step
            dated *= factors[step]
            value *= factors[step]
        if there:  # a row of zeros changes nothing, so leaving it out depends on no other lane
            value += amounts
            begun = True
    return value, dated


# Several changes of sign: the ladder. Put a cut between the two days where the sign changes. Multiplying each flow by
# (cut - its day) removes that change, and the roots of the new sum are the extremes of exp(x * cut) times the old one:
# between two of them the old sum has at most one root. So the roots are found from the rung with one change upward,
# all of them, and no grid has to be fine enough.


def _all_roots(flows: Floats, years: Floats, only_root: OnlyRoot) -> tuple[Floats, Ints]:
    """Every root in LOWEST..HIGHEST of lanes with a change of sign, ascending, (root, lane); NaN fills up."""
    cuts, changes = _cuts(flows, years)
    ends = _ends(flows, years)
    roots = np.full((1, flows.shape[1]), np.nan)
    for rung in range(len(cuts) - 1, -1, -1):
        lane = np.flatnonzero(changes > rung)
        weights = _rung(flows[:, lane], years, cuts[:rung, lane])
        quick = np.full(lane.shape, np.nan)
        single = changes[lane] == rung + 1
        quick[single] = only_root(weights[:, single], years * YEAR)
        rest = np.isnan(quick)
        found = _roots_between(weights[:, rest], years, ends[:, lane[rest]], roots[:, lane[rest]])
        roots = np.full((max(len(found), 1), flows.shape[1]), np.nan)
        roots[: len(found), lane[rest]] = found
        roots[0, lane[~rest]] = quick[~rest]
    apart = np.diff(roots, axis=0, prepend=-np.inf) > SAME
    return np.where(apart, roots, np.nan), changes


def _cuts(flows: Floats, years: Floats) -> tuple[Floats, Ints]:
    """For each lane the times between which its flows change sign, (change, lane), and how often they do."""
    cuts = np.zeros((max(len(years) - 1, 1), flows.shape[1]))
    changes = np.zeros(flows.shape[1], dtype=np.int64)
    before, when = np.zeros(flows.shape[1]), np.zeros(flows.shape[1])
    for sign, year in zip(np.sign(flows), years, strict=True):
        lane = np.flatnonzero(sign * before < 0)
        cuts[changes[lane], lane] = (when[lane] + year) / 2
        changes[lane] += 1
        before, when = np.where(sign == 0, before, sign), np.where(sign == 0, when, year)
    return cuts[: changes.max(initial=0)], changes


def _ends(flows: Floats, years: Floats) -> Floats:
    """The first and the last time at which each lane has a flow, (2, lane)."""
    there = flows != 0
    return np.stack([years[there.argmax(axis=0)], years[len(years) - 1 - there[::-1].argmax(axis=0)]])


def _rung(flows: Floats, years: Floats, cuts: Floats) -> Floats:
    """The flows with the changes of sign at `cuts` removed, scaled anew at each."""
    weights = flows
    for cut in cuts:
        weights = weights * (cut - years[:, None])
        weights = weights / np.abs(weights).max(axis=0)
    return weights


def _roots_between(flows: Floats, years: Floats, ends: Floats, extremes: Floats) -> Floats:
    """The roots of each lane, (root, lane), given the ascending places between which it has at most one."""
    lanes = flows.shape[1]
    places = np.concatenate([np.full((1, lanes), LOWEST), extremes, np.full((1, lanes), np.nan)])
    places = np.where(np.isnan(places), HIGHEST, places)
    side = np.stack([_side(flows, years, ends, place) for place in places])
    touched = (side == 0) & (places > LOWEST) & (places < HIGHEST)
    roots = np.full((2 * len(places) - 1, lanes), np.nan)
    roots[: len(places)] = np.where(touched, places, np.nan)
    gap, lane = np.nonzero(side[:-1] * side[1:] < 0)
    roots[len(places) + gap, lane] = _solve(
        flows[:, lane], years, ends[:, lane], places[gap, lane], places[gap + 1, lane], side[gap, lane]
    )
    roots = np.sort(roots, axis=0)
    found: Floats = roots[~np.isnan(roots).all(axis=1)]
    return found


def _solve(flows: Floats, years: Floats, ends: Floats, low: Floats, high: Floats, side: Floats) -> Floats:
    """The one root of each lane between low, where the npv has the sign `side`, and high, where it has the other.

    Newton's method on log(in) - log(out), from near the guess; a step that leaves the bracket or does not halve the
    one before is replaced by the middle of the bracket.
    """
    root = np.full(low.shape, np.nan)
    lane = np.arange(low.size)
    width = high - low
    inside = np.minimum(width / 2, 0.25)
    x = np.clip(np.log1p(GUESS), low + inside, high - inside)
    while lane.size:
        into, out = _worths(flows, years, ends, x)
        received, spent = np.maximum(_total(into), TINY), np.maximum(_total(out), TINY)
        balance = np.log(received) - np.log(spent)
        slope = _total(out * years[:, None]) / spent - _total(into * years[:, None]) / received
        above = np.sign(balance) == side
        low, high = np.where(above, x, low), np.where(above, high, x)
        newton = x - balance / np.where(slope == 0, np.inf, slope)
        wild = (newton <= low) | (newton >= high) | (np.abs(newton - x) > width / 2) | (slope == 0)
        after = np.where(wild, (low + high) / 2, newton)
        width = np.abs(after - x)
        done = (width <= 2 * ROUNDING * (1 + np.abs(x))) | (np.abs(balance) <= 4 * ROUNDING)
        root[lane[done]] = np.where(wild, x, after)[done]
        go = ~done
        lane, flows, ends = lane[go], flows[:, go], ends[:, go]
        x, width, low, high, side = after[go], width[go], low[go], high[go], side[go]
    return root


def _side(flows: Floats, years: Floats, ends: Floats, x: Floats) -> Floats:
    """The sign of the npv at x, (lane,): 0 where it drowns in the rounding of its parts."""
    received, spent = (_total(rows) for rows in _worths(flows, years, ends, x))
    net = received - spent
    return np.where(np.abs(net) <= NOISE * (received + spent), 0.0, np.sign(net))


def _worths(flows: Floats, years: Floats, ends: Floats, x: Floats) -> tuple[Floats, Floats]:
    """What comes in and what goes out at the rate x, (period, lane), as positive amounts of one day.

    That is the lane's first day for x >= 0 and its last for x < 0: no factor exceeds 1, none overflows.
    """
    day = np.where(x >= 0, ends[0], ends[1])
    worth = flows * np.exp(np.minimum(x * (day - years[:, None]), 0.0))
    into = np.maximum(worth, 0.0)
    return into, into - worth


def _total(rows: Floats) -> Floats:
    """The sum over the periods, one after the other: numpy's own sum takes another order for a lane alone."""
    total = np.zeros(rows.shape[1])
    for row in rows:
        total += row
    return total
