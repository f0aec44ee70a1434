"""What a run says, as one plain document: what is printed, and what `--json` gives."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from stuckstep.deal import Deal, base, variants

from . import tables
from .alerts import why_never_drawn
from .amounts import HALF_CENT, sum_of_money

Document = dict[str, Any]


def summarise(deal: Deal, dataset: xr.Dataset, scenarios: Sequence[str] | None = None) -> Document:
    """The document of some scenarios (all by default) of results that hold base too. Absent is None."""
    chosen = [str(name) for name in dataset["scenario"].values if scenarios is None or name in scenarios]
    labels = [str(label) for label in dataset["label"].values]
    shortfalls = _shortfalls(dataset)
    checks = _checks(deal, dataset)
    phases, order = _by_scenario(tables.schedule(dataset)), _by_scenario(tables.payment_order(dataset))
    debt, returns = _by_scenario(tables.debt(dataset)), _by_scenario(tables.returns(dataset))
    return {
        "deal": deal.name,
        "about": about(deal),
        **{key: str(value) for key, value in dataset.attrs.items()},
        "grid": tables.period_of(dataset),
        "periods": {"count": len(labels), "first": labels[0], "last": labels[-1]},
        "base": _verdict(dataset, shortfalls["base"], debt.get("base", [])),
        "paid_last": paid_last(deal),
        "scenarios": [
            {
                "scenario": name,
                "phases": phases[name],
                "payment_order": order[name],
                "returns": returns[name],
                "debt": debt.get(name, []),
                "largest_shortfall": shortfalls[name],
                **checks[name],
            }
            for name in chosen
        ],
    }


def about(deal: Deal) -> str:
    """What a deal says of itself, blank where nothing: the note at its title, which stands on every cover."""
    notes = (row.extras.get("note") for row in deal.tables["deal"] if row.cells["item"] == "title")
    return str(next(notes, None) or "")


def paid_last(deal: Deal) -> str | None:
    """The party that takes what all others leave: whom the first residual to a party pays; None without one."""
    sheets = base(deal)
    parties = sheets.keys("parties")
    for claim in sheets.keys("claims"):
        payee = str(sheets.cell("claims", claim, "payee"))
        if sheets.kind(claim) == "residual" and payee in parties:
            return payee
    return None


def _by_scenario(table: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """The rows of a table by scenario, as plain values."""
    columns = {str(name): [_plain(value) for value in table[name]] for name in table.columns}
    found: dict[str, list[dict[str, Any]]] = {}
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        found.setdefault(row.pop("scenario"), []).append(row)
    return found


def _plain(value: Any) -> Any:
    """A value without numpy and pandas: a date, a number, a truth value, text, or None for what is absent."""
    if isinstance(value, (pd.Timestamp, np.datetime64)):
        return pd.Timestamp(value).date()
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if value is pd.NaT or value == "" or value != value:  # only NaN differs from itself
        return None
    return float(value) if isinstance(value, (float, np.floating)) else value


def _shortfalls(dataset: xr.Dataset) -> dict[str, Document | None]:
    """For each scenario the period at whose end most is unpaid, and to whom; None where nothing ever is."""
    period = tables.period_of(dataset)
    owed: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for scenario, rows in _by_scenario(tables.shortfall(dataset)).items():
        for row in rows:
            owed.setdefault(scenario, {}).setdefault(row[period], []).append(row)
    return {name: _largest(owed.get(name, {}), period) for name in map(str, dataset["scenario"].values)}


def _largest(owed: dict[str, list[dict[str, Any]]], period: str) -> Document | None:
    """Of what is unpaid by period the largest, with its payees, the largest first."""
    if not owed:
        return None
    totals = {label: sum(row["unpaid"] for row in rows) for label, rows in owed.items()}
    worst = max(totals, key=lambda label: totals[label])
    rows = sorted(owed[worst], key=lambda row: -row["unpaid"])
    payees = [{"payee": row["payee"], "unpaid": row["unpaid"]} for row in rows]
    return {"amount": totals[worst], period: worst, "date": rows[0]["date"], "payees": payees}


def _checks(deal: Deal, dataset: xr.Dataset) -> dict[str, Document]:
    """For each scenario its alerts, the master check and the laws that are broken."""
    laws = dataset["law"].values
    broken = dataset["law_broken"].transpose("scenario", "law").values
    return {
        str(name): {
            "alerts": _alerts(deal, dataset.sel(scenario=name)),
            "is_sound": not bool(broken[place].any()),
            "broken_laws": [str(law) for law in laws[broken[place]]],
        }
        for place, name in enumerate(dataset["scenario"].values)
    }


def _alerts(deal: Deal, case: xr.Dataset) -> list[Document]:
    """The alerts of one scenario: how often each is raised, on which rows, and why where the dates tell."""
    raised = zip(case["alert"].values, case["alert_raised"].values, case["alert_on"].values, strict=True)
    found = []
    for alert, count, names in raised:
        if count > 0:
            on = str(names).split(";")
            why = [text for name in on if (text := _why(deal, case, name))] if alert == "never drawn" else []
            found.append({"alert": str(alert), "count": int(count), "on": on, "why": why})
    return found


def _why(deal: Deal, case: xr.Dataset, name: str) -> str:
    if name not in case["facility"].values:
        return ""
    (sheets,) = variants(deal, [str(case["scenario"].values)])
    closes = case["available_until"].sel(facility=name).to_numpy().reshape(-1)[0]
    finish = case["finish"].transpose("phase", "step").values
    return why_never_drawn(sheets, name, closes, finish, [str(step) for step in case["step"].values])


def _verdict(dataset: xr.Dataset, worst: Document | None, debt: Sequence[Document]) -> Document:
    """Whether base pays everyone, and whether it does so when it is due, with a sentence that says it.

    What the lenders still have outstanding when the last period ends is not due yet, and is said beside it.
    """
    currency, period = str(dataset.attrs["currency"]), tables.period_of(dataset)
    place = list(dataset["scenario"].values).index("base")
    unpaid = dataset["claim_unpaid"].transpose("scenario", period, "claim").values[place, -1]
    left: dict[str, float] = {}
    for payee, amount in zip(tables.payees(dataset)[place], unpaid, strict=True):
        if amount >= HALF_CENT:
            left[str(payee)] = left.get(str(payee), 0.0) + float(amount)
    if worst is None:
        says = f"Base pays everyone in full and when due: nothing is unpaid at the end of any {period}."
    elif not left:
        when = f"at the end of {worst[period]}, most of it to {worst['payees'][0]['payee']}"
        says = f"Base pays everyone in full but late: {sum_of_money(worst['amount'], currency)} is unpaid {when}."
    else:
        amount = sum_of_money(sum(left.values()), currency)
        whom = ", ".join(f"{payee} {sum_of_money(unpaid, currency)}" for payee, unpaid in left.items())
        says = f"Base does not pay everyone: {amount} is still unpaid when the last {period} ends ({whom})."
    lent = {row["facility"]: row["not_due"] for row in debt if row["not_due"] > 0}
    if lent:
        still = ", ".join(f"{facility} {sum_of_money(balance, currency)}" for facility, balance in lent.items())
        says += f" Lent and not yet due when the last {period} ends: {still}."
    return {"pays_everyone": not left, "pays_when_due": worst is None, "not_due": lent, "says": says}


def amounts_of(document: Document) -> list[float]:
    """Every amount of money in the tables of a document, for the scale to show them in."""
    rows = [row for scenario in document["scenarios"] for row in scenario["payment_order"]]
    return [row[name] for row in rows for name in ("due", "late", "paid", "unpaid") if row[name] >= HALF_CENT]


def json_ready(value: Any) -> Any:
    """A document with its dates in ISO form."""
    if isinstance(value, dict):
        return {key: json_ready(part) for key, part in value.items()}
    if isinstance(value, list):
        return [json_ready(part) for part in value]
    return value.isoformat() if isinstance(value, date) else value
