"""What accrues day by day from one date to another at a price that grows on each 365-day anniversary."""

from collections.abc import Sequence

from stuckstep.deal import Sheets

from .constants import constant
from .expression import FIRST_DAY, NEXT_FIRST_DAY, ONE, Node, least, most, number, pick, whole
from .inputs import amount
from .lines import Lines


def daily_quantity(lines: Lines, sheets: Sheets, basis: str, phase: str | None) -> Node:
    """How much of what a basis is priced in a phase has: a day's worth of it for a daily basis."""
    if phase is None:
        return ONE / constant(lines, "year") if basis == "usd_per_year" else ONE
    mw, racks = amount(sheets, "phases", phase, "mw"), amount(sheets, "phases", phase, "racks")
    gpus = racks * amount(sheets, "phases", phase, "gpus_per_rack")
    match basis:
        case "usd":
            return ONE
        case "usd_per_rack":
            return racks
        case "usd_per_gpu":
            return gpus
        case "usd_per_mw":
            return mw
        case "usd_per_kw_month":
            return mw * constant(lines, "kilowatts") * constant(lines, "months") / constant(lines, "year")
        case "usd_per_mw_year":
            return mw / constant(lines, "year")
        case "usd_per_gpu_hour":
            return gpus * constant(lines, "hours")
        case "usd_per_mwh":
            return mw * constant(lines, "hours")
        case "usd_per_year":
            return ONE / constant(lines, "year")
    raise ValueError(f"no rule says what a quantity of {basis} is")


def add_yearly_prices(lines: Lines, table: str, row: str, first: Node, escalator: Node, years: int) -> list[Node]:
    """The price in each year of a stream, each (1 + escalator) times the one before: a list, so no power is taken."""
    prices: list[Node] = []
    for year in range(1, years + 1):
        price = prices[-1] * (ONE + escalator) if prices else first
        says = f"price of {row} in year {year}, counted from its own beginning"
        prices.append(lines.add(table, row, f"price in year {year}", "money", says, price))
    says = f"last year of the list of prices of {row}, counted from 0"
    lines.add(table, row, "last year", "years", says, number(years - 1))
    return prices


def add_accrual(
    lines: Lines,
    at: tuple[str, str, str, str],
    daily: Node,
    prices: Sequence[Node],
    begins: Node,
    ends: Node | None,
    shift: Node,
) -> Node:
    """What accrued `shift` days before each period, exact to the day.

    `at` names table, row, item and phase of the amount. A period is shorter than a year, so it meets at most one
    anniversary.
    """
    table, row, item, phase = at
    year = constant(lines, "year")

    def say(what: str, unit: str, says: str, value: Node) -> Node:
        return lines.add(table, row, f"{item} {what}", unit, f"{says} of {row} in {phase}", value, phase=phase)

    start = say("from", "date", "first day of the period's stretch", most(FIRST_DAY - shift, begins))
    stop = NEXT_FIRST_DAY - shift if ends is None else least(NEXT_FIRST_DAY - shift, ends)
    end = say("until", "date", "day after the period's stretch", most(start, stop))
    listed = lines.at(table, row, "last year")
    years = least(whole((start - begins) / year), listed)
    age = say("age", "years", "full years at the start of the stretch", years)
    anniversary = say("turn", "date", "next day on which the price grows", begins + (age + ONE) * year)
    before = say("days", "days", "days of the stretch before the price grows", least(end, anniversary) - start)
    after = end - start - before
    later = pick(least(age + ONE, listed), prices)
    value = daily * (before * pick(age, prices) + after * later)
    return lines.add(table, row, item, "money", f"{item} of {row} in {phase}", value, phase=phase)
