"""What `run` prints, out of the document of a run: all scenarios in one table, then each by itself."""

from collections.abc import Iterator, Sequence
from datetime import date

from .amounts import HALF_CENT, NOT_MEANT_SAYS, Scale, is_meaningful, money, rate, ratio, scale_of, sum_of_money
from .console import Block, Heading, Sentence, Table
from .summary import Document, amounts_of

FEW = 6  # scenarios that fill no more than a few screens
PARALLEL = "curing it alone is worth nothing, because another path is as late"


def statement(document: Document, *, brief: bool = False) -> Iterator[Block]:
    """The blocks of a whole run; `brief` stops after the table of all scenarios."""
    scale = scale_of(amounts_of(document))
    unit = f"{document['currency']} {scale.suffix}".strip()
    yield from _opening(document, unit)
    if brief or len(document["scenarios"]) > 1:
        yield from _overview(document, scale, unit)
    if not brief and len(document["scenarios"]) > FEW:
        yield Sentence("Each scenario by itself follows; --brief leaves them out, --scenario S shows one.")
    for scenario in () if brief else document["scenarios"]:
        yield from _scenario(document, scenario, scale, unit)


def _opening(document: Document, unit: str) -> Iterator[Block]:
    periods, count = document["periods"], len(document["scenarios"])
    yield Heading(f"{document['deal']}: {document['title']}")
    if document["about"]:
        yield Sentence(document["about"])
    scenarios = f"{count} scenario{'s' * (count != 1)}"
    many = "s" * (periods["count"] != 1)
    spans = f"{periods['count']} {document['grid']}{many}, {periods['first']} to {periods['last']}"
    paid_at = f"Payments are dated at the end of the {document['grid']} in which they are made."
    yield Sentence(f"{scenarios}, {spans}. Amounts in the tables are in {unit}. {paid_at}")
    says = document["base"]
    is_good = says["pays_when_due"] and not says["not_due"]
    yield Sentence(says["says"], "green" if is_good else "yellow" if says["pays_everyone"] else "red")


def _overview(document: Document, scale: Scale, unit: str) -> Iterator[Block]:
    last, scenarios = document["paid_last"], document["scenarios"]
    broken = [scenario["scenario"] for scenario in scenarios if not scenario["is_sound"]]
    headings = ["scenario", "bills", "days late", "stuck step", "relief days", f"short of {unit}", "at end of"]
    headings += ["lowest DSCR"] * any(scenario["debt"] for scenario in scenarios)
    headings += ["half paid later", "NPV"] * (last is not None) + ["check"] * bool(broken)
    rows = [_overview_row(document, scenario, scale, headings) for scenario in scenarios]
    whose = f" (half paid later and NPV: of {last}, which is paid last)" * (last is not None)
    yield Table(headings, rows, frozenset({0, 3}), f"All scenarios{whose}")
    yield Sentence(_legend(document))
    if broken:
        yield Sentence(f"MASTER CHECK BROKEN in {_names(broken)}: see there.", "bold red")
    else:
        yield Sentence(f"Master check: sound in all {len(scenarios)} scenarios, no law is broken.", "green")


def _overview_row(document: Document, scenario: Document, scale: Scale, headings: Sequence[str]) -> list[str]:
    phases, short, last = scenario["phases"], scenario["largest_shortfall"], document["paid_last"]
    worst = max(phases, key=lambda phase: (phase["days_late"] or 0, phase["relief"] or 0))
    row = [scenario["scenario"], _last_billing(phases), _days(worst["days_late"])]
    row += [worst["stuck_step"] or "", _days(worst["relief"])]
    row += [money(short["amount"], scale) if short else "-", short[document["grid"]] if short else ""]
    if "lowest DSCR" in headings:
        row.append(
            ratio(min((d["lowest_dscr"] for d in scenario["debt"] if d["lowest_dscr"] is not None), default=None))
        )
    row += [_later(party) for party in scenario["payment_order"] if party["party"] == last]
    row += [money(party["npv"], scale) for party in scenario["returns"] if party["party"] == last]
    return row + ["sound" if scenario["is_sound"] else "BROKEN"] * ("check" in headings)


def _last_billing(phases: Sequence[Document]) -> str:
    """When the last phase that is not cancelled bills; a star where some are."""
    billing = [phase["billing_start"] for phase in phases if phase["billing_start"] is not None]
    if not billing:
        return "cancelled" if any(phase["cancelled"] for phase in phases) else "never"
    return _date(max(billing)) + "*" * any(phase["cancelled"] for phase in phases)


def _legend(document: Document) -> str:
    phases = [phase for scenario in document["scenarios"] for phase in scenario["phases"]]
    several = len({phase["phase"] for phase in phases}) > 1
    last, grid = document["paid_last"], document["grid"]
    text = (
        f"bills: first day of billing{' of the last phase' * several}"
        f"{' (*: other phases are cancelled)' * (several and any(phase['cancelled'] for phase in phases))}. "
        f"days late: behind the plan{', for the latest phase' * several}. "
        "relief: days gained if the stuck step's delay were zero"
        f"{', none where another path is as late' * any(phase['parallel'] for phase in phases)}. "
        f"short of: the most that is unpaid at the end of any {grid}."
    )
    if any(scenario["debt"] for scenario in document["scenarios"]):
        text += (
            " lowest DSCR: of any facility, where an instalment falls due; what customers pay into the account of its "
            "principal, less what falls due there ahead of it, over its own interest and principal: neither rent paid "
            "in nor a loan of equal rank counts."
        )
    if last is not None:
        text += f" half paid later: {grid}s by which half of all that {last} gets is paid later than in base."
        text += f" NPV: what {last} is paid less what it puts in, discounted to the start."
    return text


def _scenario(document: Document, scenario: Document, scale: Scale, unit: str) -> Iterator[Block]:
    yield Heading(scenario["scenario"], major=len(document["scenarios"]) == 1)
    yield _billing(scenario["phases"])
    yield from (Sentence(text, "yellow") for text in _billing_notes(scenario["phases"]))
    yield _order(document, scenario["payment_order"], scale, unit)
    yield from _returns(document, scenario, scale, unit)
    yield from _debt(document, scenario["debt"], scale, unit)
    yield from _closing(document, scenario)


def _billing(phases: Sequence[Document]) -> Table:
    headings = ["phase", "planned", "bills", "days late", "stuck step", "relief days"]
    rows = [
        [
            phase["phase"],
            _date(phase["planned_billing"]),
            "cancelled" if phase["cancelled"] else _date(phase["billing_start"]),
            _days(phase["days_late"]),
            phase["stuck_step"] or "",
            _days(phase["relief"]),
        ]
        for phase in phases
    ]
    return Table(headings, rows, frozenset({0, 4}), "Billing")


def _billing_notes(phases: Sequence[Document]) -> Iterator[str]:
    """What the table of billing dates cannot say: parallel late paths, cancelled phases, lateness from elsewhere."""
    parallel: dict[str, list[str]] = {}
    for phase in phases:
        if phase["parallel"]:
            parallel.setdefault(phase["stuck_step"], []).append(phase["phase"])
    for step, names in parallel.items():
        yield f"{step} in {_names(names)}: {PARALLEL}."
    cancelled = [phase["phase"] for phase in phases if phase["cancelled"]]
    if cancelled:
        yield f"{_names(cancelled)}: cancelled at the long-stop date, never bills."
    other = [p["phase"] for p in phases if (p["days_late"] or 0) > 0 and p["stuck_step"] is None]
    if other:
        yield f"{_names(other)}: late for no delay of a step of its own (other phases, or changed dates)."


def _order(document: Document, order: Sequence[Document], scale: Scale, unit: str) -> Table:
    headings = ["party", "first paid", "half paid", "last paid", "due", "late charges", "paid", "unpaid"]
    headings.append("half paid later")
    rows = []
    for row in order:
        if row["due"] == 0 and row["paid"] == 0:
            continue
        dates = [_date(row[name]) or "never" for name in ("first_paid", "half_paid", "last_paid")]
        amounts = [money(row[name], scale) for name in ("due", "late", "paid", "unpaid")]
        rows.append([row["party"], *dates, *amounts, _later(row)])
    return Table(headings, rows, title=f"Payment order ({unit}; half paid later: in {document['grid']}s, than in base)")


def _returns(document: Document, scenario: Document, scale: Scale, unit: str) -> Iterator[Block]:
    """What the parties that put money in get for it; a customer gets capacity, and the others have no return."""
    rows = scenario["returns"]
    headings = ["party", "puts in", "is paid", "net", "NPV", "IRR"]
    shown = [row for row in rows if row["puts_in"] >= HALF_CENT and row["paid"] >= HALF_CENT]
    cells = [
        [
            row["party"],
            *(money(row[name], scale) for name in ("puts_in", "paid", "net", "npv")),
            rate(row["irr"]) or "none",
        ]
        for row in shown
    ]
    if cells:
        yield Table(headings, cells, title=f"Returns of those who put money in ({unit})")
        for row in shown:
            if row["irr_reason"]:
                yield Sentence(f"IRR of {row['party']}: {row['irr_reason']}.")
            if row["irr"] is not None and not is_meaningful(row["irr"]):
                yield Sentence(f"IRR of {row['party']} {NOT_MEANT_SAYS}.")
        lent = [row for row in scenario["debt"] if row["not_due"] > 0]
        if lent:
            still = _names([f"{row['facility']} {sum_of_money(row['not_due'], document['currency'])}" for row in lent])
            yield Sentence(
                f"Returns end with the last {document['grid']}: what is lent and not yet due then counts as nothing "
                f"({still})."
            )


def _debt(document: Document, rows: Sequence[Document], scale: Scale, unit: str) -> Iterator[Block]:
    if not rows:
        return
    headings = [
        "facility",
        "drawn",
        "peak",
        "at end of",
        "left at the end",
        "lowest DSCR",
        "in",
        "most unpaid",
        "at end of",
    ]
    cells = [
        [
            *(row["facility"], money(row["drawn"], scale), money(row["peak"], scale), row["peak_at"] or ""),
            *(money(row["outstanding"], scale), ratio(row["lowest_dscr"]), row["lowest_dscr_at"] or ""),
            *(money(row["most_unpaid"], scale), row["most_unpaid_at"] or ""),
        ]
        for row in rows
    ]
    yield Table(headings, cells, title=f"Debt ({unit}; DSCR where an instalment falls due)")


def _closing(document: Document, scenario: Document) -> Iterator[Block]:
    currency, grid = document["currency"], document["grid"]
    idle = [row["party"] for row in scenario["payment_order"] if row["due"] == 0 and row["paid"] == 0]
    if idle:
        yield Sentence(f"Nothing falls due to {_names(idle)}.")
    short = scenario["largest_shortfall"]
    if short is None:
        yield Sentence(f"Most unpaid at one time: nothing, at the end of any {grid}.")
    else:
        whom = ", ".join(f"{row['payee']} {sum_of_money(row['unpaid'], currency)}" for row in short["payees"])
        amount = sum_of_money(short["amount"], currency)
        yield Sentence(f"Most unpaid at one time: {amount} at the end of {short[grid]} ({whom}).", "yellow")
    if not scenario["alerts"]:
        yield Sentence("Alerts: none.")
    for alert in scenario["alerts"]:
        why = f"; {'; '.join(alert['why'])}" if alert["why"] else ""
        yield Sentence(f"Alert: {alert['alert']}: {_names(alert['on'])}{why}.", "yellow")
    if scenario["is_sound"]:
        yield Sentence("Master check: sound, no law is broken.", "green")
    else:
        yield Sentence(f"MASTER CHECK BROKEN: the laws on {_names(scenario['broken_laws'])} do not hold.", "bold red")


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _date(day: date | None) -> str:
    return day.isoformat() if day else ""


def _days(days: float | None) -> str:
    return "" if days is None else f"{days:,.0f}"


def _later(party: Document) -> str:
    """How many periods later than in base a party is half paid: in brackets when earlier, blank where none compare."""
    periods = party["quarters_late"]
    if periods is None:
        return "" if party["half_paid"] else "never"
    return f"({-periods:.0f})" if periods < 0 else f"{periods:.0f}"
