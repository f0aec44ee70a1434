"""Results as pandas tables: payments in long form, the payment order, the schedule, what is short and when."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from .amounts import HALF_CENT

MONEY_DECIMALS = 6  # of the currency unit: below it there is only the dust of adding large amounts
AMOUNTS = ("due", "late", "claimed", "paid", "unpaid")


def period_of(dataset: xr.Dataset) -> str:
    """The name of the dimension the results run over: quarter, or month."""
    return "month" if "month" in dataset.dims else "quarter"


def payments(dataset: xr.Dataset) -> pd.DataFrame:
    """What falls due, is claimed, is paid and stays unpaid, by scenario, period and claim; without rows of nothing.

    Columns: scenario, quarter (or month), date (the period's last day), party (blank for money moved to another
    account), account (that account, else blank), claim, and the five amounts in the deal's currency.
    """
    period = period_of(dataset)
    amounts = {name: _ordered(dataset, f"claim_{name}", "scenario", period, "claim") for name in AMOUNTS}
    amounts = {name: np.round(values, MONEY_DECIMALS) + 0.0 for name, values in amounts.items()}
    scenario, time, claim = np.nonzero(np.any(np.stack(list(amounts.values())) != 0, axis=0))
    payee = payees(dataset)[scenario, claim]
    is_party = np.isin(payee, dataset["party"].values)
    return pd.DataFrame(
        {
            "scenario": dataset["scenario"].values[scenario],
            period: dataset["label"].values[time],
            "date": dataset[period].values[time],
            "party": np.where(is_party, payee, ""),
            "account": np.where(is_party, "", payee),
            "claim": dataset["claim"].values[claim],
            **{name: values[scenario, time, claim] for name, values in amounts.items()},
        }
    )


def payees(dataset: xr.Dataset) -> NDArray[np.object_]:
    """Who each claim is paid to, (scenario, claim): a scenario may change a payee."""
    return np.asarray(dataset["payee"].transpose("scenario", "claim").values)


def payment_order(dataset: xr.Dataset) -> pd.DataFrame:
    """The parties of each scenario in order of their first payment, in chain order where that is the same.

    Columns: scenario, party, first_paid, half_paid, last_paid (NaT where never), due, late (interest on what was
    overdue), paid (sums of all periods), unpaid (at the end: due + late - paid), quarters_late (half_paid against base;
    NaN where either is absent).
    """
    period = period_of(dataset)
    table = pd.DataFrame(_pairs(dataset, "party"))
    for name in ("first_paid", "half_paid", "last_paid"):
        table[name] = _ordered(dataset, name, "scenario", "party").ravel()
    sums = {name: _ordered(dataset, name, "scenario", "party", period).sum(axis=2) for name in ("due", "paid")}
    table["due"], table["late"], table["paid"] = sums["due"].ravel(), _late(dataset).ravel(), sums["paid"].ravel()
    table["unpaid"] = _ordered(dataset, "unpaid", "scenario", "party", period)[..., -1].ravel()
    table["quarters_late"] = _ordered(dataset, "quarters_late", "scenario", "party").ravel()
    place = np.repeat(np.arange(dataset.sizes["scenario"]), dataset.sizes["party"])
    first = table["first_paid"].to_numpy()
    order = np.lexsort((np.where(np.isnat(first), np.iinfo(np.int64).max, first.astype(np.int64)), place))
    return table.iloc[order].reset_index(drop=True)


def _late(dataset: xr.Dataset) -> NDArray[np.float64]:
    """The late interest of all periods by payee, (scenario, party)."""
    late = _ordered(dataset, "claim_late", "scenario", "claim", period_of(dataset)).sum(axis=2)
    payee = payees(dataset)
    return np.stack([np.where(payee == party, late, 0.0).sum(axis=1) for party in dataset["party"].values], axis=1)


def schedule(dataset: xr.Dataset) -> pd.DataFrame:
    """When each phase bills in each scenario, and which step holds it up.

    Columns: scenario, phase, planned_billing, billing_start (NaT when cancelled), days_late, cancelled, stuck_step
    (blank where none is), relief (days gained if that one delay were zero; NaN without a stuck step), parallel (whether
    curing it alone gains nothing because another path is as late).
    """
    table = pd.DataFrame(_pairs(dataset, "phase"))
    for name in ("planned_billing", "billing_start", "days_late", "cancelled", "stuck_step"):
        table[name] = _ordered(dataset, name, "scenario", "phase").ravel()
    stuck = _ordered(dataset, "stuck_step", "scenario", "phase")
    relief = _ordered(dataset, "relief", "scenario", "phase", "step")
    is_stuck = stuck[..., None] == dataset["step"].values
    gained = np.where(stuck != "", np.where(is_stuck, relief, 0.0).sum(axis=2), np.nan)
    table["relief"] = gained.ravel()
    table["parallel"] = table["relief"] == 0
    return table


def debt(dataset: xr.Dataset) -> pd.DataFrame:
    """What each facility lends and how well it is served in each scenario.

    Columns: scenario, facility, drawn (in the run), peak (largest balance), peak_at (label), outstanding and not_due
    (at the end, with and without overdue principal), lowest_dscr and lowest_dscr_at (of the periods in which an
    instalment falls due: before the first one interest is served from draws and equity by plan; NaN and blank without
    any), most_unpaid (of its fee, interest and principal together) and most_unpaid_at.
    """
    period = period_of(dataset)
    dims = ("scenario", "facility", period)
    draw, balance, dscr = (_ordered(dataset, name, *dims) for name in ("draw", "balance_closing", "dscr"))
    dscr = np.where(_ordered(dataset, "principal_due", *dims) >= HALF_CENT, dscr, np.nan)
    claims, unpaid = list(dataset["claim"].values), _ordered(dataset, "claim_unpaid", "scenario", "claim", period)
    owed, not_due = np.zeros_like(balance), balance[..., -1].copy()
    for place, facility in enumerate(dataset["facility"].values):
        not_due[:, place] -= unpaid[:, claims.index(f"{facility}.principal"), -1]
        for part in ("fee", "interest", "principal"):
            owed[:, place] += unpaid[:, claims.index(f"{facility}.{part}")]
    owed = np.where(owed >= HALF_CENT, owed, 0.0)
    table = pd.DataFrame(_pairs(dataset, "facility"))
    table["drawn"], table["outstanding"] = draw.sum(axis=2).ravel(), balance[..., -1].ravel()
    table["not_due"] = np.where(not_due >= HALF_CENT, not_due, 0.0).ravel()
    labels = dataset["label"].values
    table["peak"], table["peak_at"] = _largest(balance, labels)
    table["most_unpaid"], table["most_unpaid_at"] = _largest(owed, labels)
    lowest, table["lowest_dscr_at"] = _largest(np.where(np.isnan(dscr), -np.inf, -dscr), labels)
    table["lowest_dscr"] = np.where(np.isinf(lowest), np.nan, -lowest)
    return table


def _largest(values: NDArray[np.float64], labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The largest value along the last axis and the label at which it first stands; blank where that is nothing."""
    at = values.argmax(axis=-1)
    found = np.take_along_axis(values, at[..., None], axis=-1)[..., 0]
    return found.ravel(), np.where((found == 0) | np.isinf(found), "", labels[at]).ravel()


def returns(dataset: xr.Dataset) -> pd.DataFrame:
    """What each party puts in and gets out in each scenario, and what that is worth.

    Columns: scenario, party, puts_in, paid and net (sums of all periods), npv, irr (NaN where absent), irr_reason (why
    it is absent or not the only one; else blank).
    """
    period = period_of(dataset)
    table = pd.DataFrame(_pairs(dataset, "party"))
    for name in ("puts_in", "paid", "net"):
        table[name] = _ordered(dataset, name, "scenario", "party", period).sum(axis=2).ravel()
    for name in ("npv", "irr", "irr_reason"):
        table[name] = _ordered(dataset, name, "scenario", "party").ravel()
    table["irr_reason"] = table["irr_reason"].replace("ok", "")
    return table


def shortfall(dataset: xr.Dataset) -> pd.DataFrame:
    """What is unpaid at the end of each period, by payee (a party, or an account that claims money).

    Columns: scenario, quarter (or month), date, payee, unpaid (above half a cent).
    """
    period = period_of(dataset)
    owed = payments(dataset)
    owed = owed[owed["unpaid"] >= HALF_CENT]
    owed = owed.assign(payee=owed["party"].where(owed["party"] != "", owed["account"]))
    return owed.groupby(["scenario", period, "date", "payee"], sort=False)["unpaid"].sum().reset_index()


def _ordered(dataset: xr.Dataset, name: str, *dims: str) -> NDArray[Any]:
    """A variable's values with its dimensions in the order named."""
    return np.asarray(dataset[name].transpose(*dims).values)


def _pairs(dataset: xr.Dataset, dimension: str) -> dict[str, NDArray[Any]]:
    """Every scenario with every label of a dimension, as two columns."""
    scenarios, labels = dataset["scenario"].values, dataset[dimension].values
    return {"scenario": np.repeat(scenarios, len(labels)), dimension: np.tile(labels, len(scenarios))}
