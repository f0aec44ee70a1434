"""What a row of dated flows is worth (npv) and earns (irr), for thousands of rows at once.

Conventions, those of a spreadsheet's XNPV and XIRR: actual/365 whatever the calendar says (a leap year is 366/365 of a
year), annual effective rates, and a flow dated `at` is not discounted. The spreadsheet's NPV() is another thing: it
discounts the first flow by a whole period.

A *lane* is one row of flows (one party in one scenario). Every step is the same sequence of additions for a lane alone
and for a lane among thousands, so its result does not depend, to the last bit, on its company.

Rates are searched as x = log(1 + rate): the npv is then a sum of exponentials, sum(flow * exp(-x * years)), and by
Descartes' rule has at most as many roots as the flows change sign. That decides the method: none, one, or the ladder.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

YEAR = 365.0
GUESS = 0.1  # a spreadsheet starts XIRR here, so of several rates its user expects the nearest one
LOWEST, HIGHEST = -36.0, float(np.log1p(1e9))  # log(1 + rate): from 2e-16 above -100% to 1e9; beyond means nothing
DUST = 1e-12  # of a lane's largest flow: what adding and subtracting large amounts leaves behind
NOISE = 8 * float(np.finfo(float).eps)  # of the gross present value: a net one below it is zero
SAME = 1e-7  # two roots closer than this in log(1 + rate) are one that is touched, not crossed
CHUNK = 8192  # lanes at a time: the working rows stay in the processor's cache
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
    for row, day in zip(rows, days, strict=True):
        worth += row / np.power(growth, (day - at) / YEAR)
    return worth


def irr(flows: ArrayLike, dates: ArrayLike, axis: int = 0) -> tuple[Floats, Ints]:
    """Annual effective rate that brings the npv to zero, and the reason: XIRR for any number of lanes.

    flows: (period, ...), or the periods along `axis`; any unit of money. dates: (period,), serial days, any order;
    `365 * np.arange(n)` gives the rate per period (the spreadsheet's IRR). Returns rate and reason, both in the
    shape of the other axes. reason is how many rates were found between -100% and 1e9 (1: the usual case); of several,
    rate is the one nearest to 10%, measured on log(1 + rate). Where there is none, rate is NaN and reason a key of
    REASONS; `reason_text` puts it in words. Flows below 1e-12 of their lane's largest count as nothing.
    """
    rows, days = _rows(flows, dates, axis)
    shape = rows.shape[1:]
    rows, days = _by_day(rows.reshape(len(rows), -1), days - days[:1])
    rate = np.full(rows.shape[1], np.nan)
    reason = np.zeros(rows.shape[1], dtype=np.int64)
    for start in range(0, rows.shape[1], CHUNK):
        part = slice(start, start + CHUNK)
        rate[part], reason[part] = _irr(rows[:, part], days)
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


def _irr(rows: Floats, days: Floats) -> tuple[Floats, Ints]:
    size = np.abs(rows)
    largest = size.max(axis=0, initial=0.0)
    finite = np.isfinite(largest)
    flows = np.where((size > DUST * largest) & finite, rows, 0.0)
    changes = _sign_changes(flows)
    count = np.where(finite, np.where(largest > 0, ONE_SIGN, NO_FLOWS), NOT_FINITE)
    root = np.full(largest.shape, np.nan)

    once = changes == 1
    root[once] = _only_root(flows if once.all() else flows[:, once], days)
    count[once] = 1
    hard = np.flatnonzero((changes > 0) & np.isnan(root))
    if hard.size:
        roots = _all_roots(flows[:, hard] / largest[hard], days / YEAR)
        root[hard] = _nearest(roots)
        found = np.count_nonzero(~np.isnan(roots), axis=0)
        # roots and sign changes are both odd or both even: an odd one that was not found lies outside
        count[hard] = np.where(found > 0, found, np.where(changes[hard] % 2, OUT_OF_RANGE, NO_ROOT))
    return np.expm1(root), count


def _sign_changes(flows: Floats) -> Ints:
    changes = np.zeros(flows.shape[1], dtype=np.int16)
    before = np.zeros(flows.shape[1], dtype=np.int8)
    for sign in (flows > 0).astype(np.int8) - (flows < 0):
        changes += sign * before < 0
        np.copyto(before, sign, where=sign != 0)
    return changes.astype(np.int64)


def _nearest(roots: Floats) -> Floats:
    """Of each lane's roots the one nearest to the guess; NaN where there is none."""
    roots = np.concatenate([roots, np.full((1, roots.shape[1]), np.nan)])
    distance = np.where(np.isnan(roots), np.inf, np.abs(roots - np.log1p(GUESS)))
    return roots[distance.argmin(axis=0), np.arange(roots.shape[1])]


# One change of sign: one root. The balance log(in) - log(out) is almost a straight line in x, so a Newton step from
# x = 0 and a few of inverse quadratic interpolation settle it. A lane that does not settle is NaN and takes the ladder.


def _only_root(flows: Floats, days: Floats) -> Floats:
    into = np.maximum(flows, 0.0)
    out = into - flows
    with np.errstate(all="ignore"):
        balance, slope = _balance_at_zero(into, out, days)
        settled = np.where(balance == 0, 0.0, np.nan)
        x, point, oldest, inverse = np.zeros_like(balance), -balance / slope, balance, 1.0 / slope
        for _ in range(8):
            here = _balance(into, out, days, point)
            nearer = (point - x) / (here - balance)
            bend = (nearer - inverse) / (here - oldest)
            after = np.where(np.abs(here) < NOISE / 8, point, point - here * nearer + here * balance * bend)
            good = (np.abs(after - point) < 1e-10) & (np.abs(here) < 1e-6) & (np.abs(after) < 3)
            settled = np.where(np.isnan(settled) & good, after, settled)
            if not np.isnan(settled).any():
                break
            x, point, oldest, balance, inverse = point, after, balance, here, nearer
    return settled


def _balance_at_zero(into: Floats, out: Floats, days: Floats) -> tuple[Floats, Floats]:
    """log(in) - log(out) at rate zero and its slope: the difference of the two mean dates, in years."""
    sums = []
    for rows in (into, out):
        total, dated = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        for row, day, there in zip(rows, days, rows.any(axis=1), strict=True):
            if there:
                total += row
                dated += row * (day / YEAR)
        sums.append((total, dated / total))
    (received, late), (spent, early) = sums
    return np.log(received / spent), early - late


def _balance(into: Floats, out: Floats, days: Floats, x: Floats) -> Floats:
    steps = np.diff(days)
    factors = {step: np.exp(x * (-step / YEAR)) for step in set(steps)}
    growth = [factors[step] for step in steps]
    return np.log(_worth_first_day(into, growth) / _worth_first_day(out, growth))


def _worth_first_day(rows: Floats, growth: list[Floats]) -> Floats:
    """Present value on the first day, by Horner's rule from the last."""
    total = rows[-1].copy()
    there = rows.any(axis=1)  # a row of zeros changes nothing, so leaving it out depends on no other lane
    begun = there[-1]
    for row, factor, adds in zip(rows[-2::-1], growth[::-1], there[-2::-1], strict=True):
        if begun:
            total *= factor
        if adds:
            total += row
            begun = True
    return total


# Several changes of sign: the ladder. Put a cut between the days where one change of sign happens. Multiplying each flow by
# (cut - its day) removes that change, and the roots of the new sum are the extremes of exp(x * cut) times the old one:
# between two of them the old sum has at most one root. So the roots are found from the rung with one change upward,
# all of them, however close; no grid has to be fine enough.


def _all_roots(flows: Floats, years: Floats) -> Floats:
    """Every root in LOWEST..HIGHEST of lanes with a change of sign, ascending, (root, lane); NaN fills up."""
    cuts, changes = _cuts(flows, years)
    ends = _ends(flows, years)
    lanes = flows.shape[1]
    roots = np.full((0, lanes), np.nan)
    for rung in range(len(cuts) - 1, -1, -1):
        lane = np.flatnonzero(changes > rung)
        weights = _rung(flows[:, lane], years, cuts[:rung, lane])
        found = _roots_between(weights, years, ends[:, lane], roots[:, lane])
        roots = np.full((len(found), lanes), np.nan)
        roots[:, lane] = found
    apart = np.diff(roots, axis=0, prepend=-np.inf) > SAME
    return np.where(apart, roots, np.nan)


def _cuts(flows: Floats, years: Floats) -> tuple[Floats, Ints]:
    """For each lane the times between which its flows change sign, (change, lane), and how often they do."""
    changes = _sign_changes(flows)
    cuts = np.zeros((changes.max(initial=0), flows.shape[1]))
    seen = np.zeros(flows.shape[1], dtype=np.int64)
    before, when = np.zeros(flows.shape[1]), np.zeros(flows.shape[1])
    for sign, year in zip(np.sign(flows), years, strict=True):
        lane = np.flatnonzero(sign * before < 0)
        cuts[seen[lane], lane] = (when[lane] + year) / 2
        seen[lane] += 1
        before, when = np.where(sign == 0, before, sign), np.where(sign == 0, when, year)
    return cuts, changes


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
    return roots[~np.isnan(roots).all(axis=1)]


def _side(flows: Floats, years: Floats, ends: Floats, x: Floats) -> Floats:
    """The sign of the npv at x, (lane,): 0 where it drowns in the rounding of its parts."""
    received, spent, _ = _sums(flows, years, ends, x)
    net = received - spent
    return np.where(np.abs(net) <= NOISE * (received + spent), 0.0, np.sign(net))


def _solve(flows: Floats, years: Floats, ends: Floats, low: Floats, high: Floats, side: Floats) -> Floats:
    """The one root of each lane between low, where the npv has the sign `side`, and high, where it has the other.

    Newton's method on log(in) - log(out); a step that leaves the bracket or does not halve the one before is replaced
    by the middle of the bracket.
    """
    root = np.full(low.shape, np.nan)
    lane = np.arange(low.size)
    x, width = (low + high) / 2, high - low
    while lane.size:
        received, spent, slope = _sums(flows, years, ends, x)
        balance = np.log(np.maximum(received, TINY)) - np.log(np.maximum(spent, TINY))
        above = np.sign(received - spent) == side
        low, high = np.where(above, x, low), np.where(above, high, x)
        newton = x - balance / np.where(slope == 0, np.inf, slope)
        wild = (newton <= low) | (newton >= high) | (np.abs(newton - x) > width / 2) | (slope == 0)
        after = np.where(wild, (low + high) / 2, newton)
        width = np.abs(after - x)
        done = (width <= NOISE / 16 * (1 + np.abs(x))) | (np.abs(balance) <= NOISE / 8)
        root[lane[done]] = np.where(wild, x, after)[done]
        go = ~done
        lane, flows, ends = lane[go], flows[:, go], ends[:, go]
        x, width, low, high, side = after[go], width[go], low[go], high[go], side[go]
    return root


def _sums(flows: Floats, years: Floats, ends: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Present value of what comes in and of what goes out at x, and the slope of log(in) - log(out), each (lane,).

    Both are taken at the lane's first day for x >= 0 and at its last for x < 0: no factor exceeds 1, none overflows.
    """
    day = np.where(x >= 0, ends[0], ends[1])
    received, spent, late, early = (np.zeros_like(x) for _ in range(4))
    for row, year in zip(flows, years, strict=True):
        worth = row * np.exp(np.minimum(x * (day - year), 0.0))
        into = np.maximum(worth, 0.0)
        out = into - worth
        received += into
        spent += out
        late += year * into
        early += year * out
    slope = early / np.maximum(spent, TINY) - late / np.maximum(received, TINY)
    return received, spent, slope
