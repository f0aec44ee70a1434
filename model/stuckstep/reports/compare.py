"""Deals side by side: who is paid when, how much in total and how much for each MW that bills."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from .amounts import HALF_CENT, NOT_MEANT_SAYS, Scale, is_meaningful, money, number, rate, ratio, scale_of, sum_of_money
from .console import Block, Heading, Sentence, Table
from .tables import debt, period_of

AMOUNTS = ("due", "paid", "unpaid")
DATES = ("first_paid", "half_paid", "last_paid")


class Side(NamedTuple):
    """One deal in one scenario: `results` hold that scenario alone, `mw` is the most that bills at once in base."""

    name: str
    scenario: str
    results: xr.Dataset
    mw: float

    @property
    def heading(self) -> str:
        return self.name if self.scenario == "base" else f"{self.name}:{self.scenario}"


def side(name: str, results: xr.Dataset, scenario: str = "base") -> Side:
    """A side of the comparison from results that hold base and the scenario."""
    billing = results["mw"].sel(status="billing", scenario="base")
    return Side(name, scenario, results.sel(scenario=scenario), float(billing.max()))


def compare(sides: Sequence[Side]) -> pd.DataFrame:
    """One row for each deal and party, in chain order; several currencies are a ValueError.

    Columns: deal, scenario, party; first_paid, half_paid, last_paid (period labels, blank where never) and first_after,
    half_after, last_after (periods after the deal's first one, NaN where never); due and paid (sums of all periods) and
    unpaid (the most at any period's end), and each of them per MW that bills (NaN where none does); npv, and irr of who
    puts money in (else NaN).
    """
    currencies = {one.results.attrs["currency"] for one in sides}
    if len(currencies) > 1:
        raise ValueError(f"amounts in {' and '.join(sorted(currencies))} cannot be set side by side")
    return pd.concat([_by_party(one) for one in sides], ignore_index=True)


def overview(sides: Sequence[Side]) -> pd.DataFrame:
    """One row for each deal: what it bills and when, who puts money in, and what stays unpaid.

    Columns: deal, scenario, title, start (label of the first period), mw, planned, billing (the first phase's dates,
    NaT where never), days_late (of the latest phase, cancelled ones apart), cancelled (phases), stuck (steps), billed,
    billed_per_mw_year (of the MW that bill at each period's end), lowest_dscr (where an instalment falls due), drawn,
    put_in (by supports), unpaid (the most at any end).
    """
    return pd.DataFrame([_overview(one) for one in sides])


def parties_of(sides: Sequence[Side]) -> list[str]:
    """Every party, in chain order: one that a deal adds stands after the party it follows there."""
    order: list[str] = []
    for one in sides:
        place = 0
        for party in one.results["party"].values:
            if party in order:
                place = order.index(party) + 1
            else:
                order.insert(place, str(party))
                place += 1
    return order


def comparison_page(sides: Sequence[Side]) -> Iterator[Block]:
    """The blocks: an overview, then for each party when it is paid, how much in total and per MW, and its IRR."""
    table = compare(sides)
    yield Heading("Side by side")
    for one in sides:
        yield Sentence(f"{one.heading}: {one.results.attrs['title']}.")
    yield _overview_table(sides)
    owed = set(table.loc[table["due"] >= HALF_CENT, "party"])
    order = [party for party in parties_of(sides) if party in owed]
    for name in DATES:
        title = f"{name.replace('_', ' ').capitalize()} (periods after the first)"
        yield _party_table(sides, table, order, title, partial(_when, name=name))
    yield from _amount_tables(sides, table, order, "paid", "Paid")
    earn = set(table.loc[table["irr"].notna(), "party"])
    if earn:
        parties = [party for party in order if party in earn]
        yield _party_table(sides, table, parties, "IRR of who puts money in", lambda row: rate(row["irr"]))
        if not is_meaningful(table["irr"].abs().max()):
            yield Sentence(f"{NOT_MEANT_SAYS}.")
    if table["unpaid"].max() >= HALF_CENT:
        yield from _amount_tables(sides, table, order, "unpaid", "Unpaid at worst")
    else:
        yield Sentence("Nobody is left unpaid at any period's end.", "green")


def _amount_tables(
    sides: Sequence[Side], table: pd.DataFrame, order: Sequence[str], name: str, what: str
) -> Iterator[Table]:
    currency = sides[0].results.attrs["currency"]
    for column, per in ((name, "in total"), (f"{name}_per_mw", "per MW")):
        own = {one.heading: scale_of(_rows_of(table, one)[column].dropna()) for one in sides}
        headings = [f"{one.heading}, {currency} {own[one.heading].suffix}".strip() for one in sides]
        units = {(one.name, one.scenario): own[one.heading].units for one in sides}
        show = partial(_amount, column=column, units=units)
        yield _party_table(sides, table, order, f"{what}, {per}", show, headings)


def _rows_of(table: pd.DataFrame, one: Side) -> pd.DataFrame:
    return table[(table["deal"] == one.name) & (table["scenario"] == one.scenario)]


def _by_party(one: Side) -> pd.DataFrame:
    period = period_of(one.results)
    names = one.results["party"].values
    table = pd.DataFrame({"deal": one.name, "scenario": one.scenario, "party": names})
    labels, ends = one.results["label"].values, one.results[period].values
    for name in DATES:
        dates = one.results[name].values
        found = np.array([np.flatnonzero(ends == date)[0] if not np.isnat(date) else -1 for date in dates])
        table[name] = np.where(found >= 0, labels[found], "")
        table[name.replace("_paid", "_after")] = np.where(found >= 0, found, np.nan)
    for name in AMOUNTS:
        values = one.results[name]
        amounts = values.max(period) if name == "unpaid" else values.sum(period)
        table[name] = amounts.values
        table[f"{name}_per_mw"] = table[name] / one.mw if one.mw > 0 else np.nan
    puts_in = one.results["puts_in"].sum(period).values
    table["npv"], table["irr"] = (
        one.results["npv"].values,
        np.where(puts_in >= HALF_CENT, one.results["irr"].values, np.nan),
    )
    return table


def _overview(one: Side) -> dict[str, object]:
    results, period = one.results, period_of(one.results)
    billed = float(results["billed"].sum())
    mw_years = float(results["mw"].sel(status="billing").sum()) / (12 if period == "month" else 4)
    stuck = [str(step) for step in results["stuck_step"].values if step]
    late = results["days_late"].values[~results["cancelled"].values]
    return {
        "deal": one.name,
        "scenario": one.scenario,
        "title": results.attrs["title"],
        "start": str(results["label"].values[0]),
        "mw": one.mw,
        "planned": _first(results["planned_billing"]),
        "billing": _first(results["billing_start"]),
        "days_late": float(late.max(initial=0.0)),
        "cancelled": int(results["cancelled"].sum()),
        "stuck": ", ".join(dict.fromkeys(stuck)),
        "billed": billed,
        "billed_per_mw_year": billed / mw_years if mw_years else np.nan,
        "lowest_dscr": float(debt(results.expand_dims("scenario"))["lowest_dscr"].min()),
        "drawn": float(results["draw"].sum()),
        "put_in": float(results["support_paid"].sum()),
        "unpaid": float(results["claim_unpaid"].sum("claim").max()),
    }


def _first(dates: xr.DataArray) -> np.datetime64:
    """The earliest date, NaT where there is none: a cancelled phase has none."""
    known = dates.values[~np.isnat(dates.values)]
    return np.datetime64(known.min() if known.size else "NaT")


def _overview_table(sides: Sequence[Side]) -> Table:
    currency = sides[0].results.attrs["currency"]
    shown: dict[str, Callable[[pd.Series], str]] = {
        "first period": lambda row: str(row["start"]),
        "MW that bill": lambda row: number(round(row["mw"], 2)),
        "first planned billing": lambda row: _day(row["planned"]),
        "first billing": lambda row: _day(row["billing"]),
        "days late, latest phase": lambda row: number(row["days_late"]),
        "phases cancelled": lambda row: str(row["cancelled"]),
        "stuck step": lambda row: row["stuck"] or "-",
        "billed": lambda row: sum_of_money(row["billed"], currency),
        "billed per MW-year": lambda row: _per_mw(row["billed_per_mw_year"], currency),
        "lowest DSCR, instalments": lambda row: ratio(row["lowest_dscr"]) or "-",
        "drawn": lambda row: sum_of_money(row["drawn"], currency),
        "put in by supports": lambda row: sum_of_money(row["put_in"], currency),
        "unpaid at worst": lambda row: sum_of_money(row["unpaid"], currency),
    }
    rows = overview(sides).to_dict("records")
    lines = [[name, *(show(pd.Series(row)) for row in rows)] for name, show in shown.items()]
    return Table(["", *(one.heading for one in sides)], lines)


def _party_table(
    sides: Sequence[Side],
    table: pd.DataFrame,
    order: Sequence[str],
    title: str,
    show: Callable[[pd.Series], str],
    headings: Sequence[str] = (),
) -> Table:
    cells = {(row["deal"], row["scenario"], row["party"]): show(row) for _, row in table.iterrows()}
    rows = [[party, *(cells.get((one.name, one.scenario, party), "") for one in sides)] for party in order]
    return Table(["party", *(headings or [one.heading for one in sides])], rows, title=title)


def _when(row: pd.Series, name: str) -> str:
    """`2027Q4 (+3)`, or `never` for a party of the deal that is not paid."""
    after = row[name.replace("_paid", "_after")]
    return "never" if np.isnan(after) else f"{row[name]} (+{int(after)})"


def _amount(row: pd.Series, column: str, units: Mapping[tuple[str, str], float]) -> str:
    return money(float(row[column]), Scale("", units[row["deal"], row["scenario"]]))


def _per_mw(value: float, currency: str) -> str:
    return "-" if np.isnan(value) else sum_of_money(value, currency)


def _day(value: object) -> str:
    date = pd.Timestamp(value)  # type: ignore[arg-type]
    return "never" if pd.isna(date) else f"{date:%Y-%m-%d}"
