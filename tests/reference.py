"""A deal computed the plain way: one scenario, one period, one account, one claim at a time.

This is the independent check of the engine and the baseline of its speed test. It knows nothing of the package: it
was written from the text of the rules alone, with the standard library alone. It expects valid tables and checks
only what the rules call an error of the run itself (a once claim due before the start).

Days are ordinals (`date.toordinal`), so that day arithmetic is integer arithmetic; `NEVER` is a day beyond all others.
A span of days is half open: from its first day up to, not including, the day after its last.
"""

from __future__ import annotations

import calendar
import csv
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

Row = dict[str, str]
Tables = dict[str, list[Row]]

NEVER = 10**9
KEYS = {
    "deal": "item",
    "parties": "party",
    "phases": "phase",
    "steps": "step",
    "contracts": "contract",
    "accounts": "account",
    "claims": "claim",
    "facilities": "facility",
    "supports": "support",
}
STATUSES = ["contracted", "connected", "installed", "active", "billing"]
NEARLY = 1e-6  # a rank this close to full payment is paid in full
HALF_CENT = 0.005  # what may be unpaid without locking a residual up


@dataclass
class Result:
    """What one scenario gives. Lists run over the periods; amounts are in the deal's currency."""

    periods: list[str]
    first_days: list[date]
    finish: dict[tuple[str, str], date] = field(default_factory=dict)  # (phase, step)
    relief: dict[tuple[str, str], int] = field(default_factory=dict)  # days
    float_: dict[tuple[str, str], int] = field(default_factory=dict)  # days
    last_finish: dict[str, date] = field(default_factory=dict)  # phase
    planned_billing: dict[str, date] = field(default_factory=dict)
    billing: dict[str, date | None] = field(default_factory=dict)  # None: cancelled
    cancelled: dict[str, date | None] = field(default_factory=dict)  # None: not cancelled
    days_late: dict[str, int | None] = field(default_factory=dict)  # None: cancelled
    stuck_step: dict[str, str | None] = field(default_factory=dict)
    claims: dict[str, list[dict[str, float]]] = field(default_factory=dict)  # due, late, claimed, paid, unpaid
    placed: dict[tuple[str, str], list[dict[str, float]]] = field(default_factory=dict)  # claimed, cash, support
    cash_closing: dict[str, list[float]] = field(default_factory=dict)
    facilities: dict[str, dict[str, list]] = field(default_factory=dict)  # draw, balance_closing, eligible, limit, dscr
    support_paid: dict[str, list[float]] = field(default_factory=dict)
    billed: dict[str, list[float]] = field(default_factory=dict)  # phase
    collected: dict[str, list[float]] = field(default_factory=dict)
    prepaid: dict[str, list[float]] = field(default_factory=dict)
    prepayment: dict[str, float] = field(default_factory=dict)  # phase: all it prepays, whenever that is
    credited: dict[str, float] = field(default_factory=dict)  # phase: of that, credited on its bills
    owed_back: dict[str, float] = field(default_factory=dict)  # phase: of that, due back
    mw: dict[str, list[float]] = field(default_factory=dict)  # status
    parties: dict[str, list[dict[str, float]]] = field(default_factory=dict)  # due, paid, unpaid, put_in, net


# Tables ---------------------------------------------------------------------------------------------------------------


def read_tables(folder: str | Path) -> Tables:
    """The CSV files of a deal folder, every cell as text."""
    tables = {}
    for path in sorted(Path(folder).glob("*.csv")):
        with path.open(newline="", encoding="utf-8-sig") as file:
            tables[path.stem] = [{column: value or "" for column, value in row.items()} for row in csv.DictReader(file)]
    return tables


def text(row: Row, column: str, blank: str = "") -> str:
    return (row.get(column) or "").strip() or blank


def number(row: Row, column: str, blank: float | None = None) -> float:
    cell = text(row, column)
    return blank if cell == "" and blank is not None else float(cell)


def days_in(row: Row, column: str, blank: int | None = None) -> int:
    cell = text(row, column)
    return blank if cell == "" and blank is not None else int(float(cell))


def names_in(row: Row, column: str) -> list[str]:
    return [name.strip() for name in text(row, column).split(";") if name.strip()]


def places_in(row: Row, column: str) -> list[tuple[str, float]]:
    places = []
    for place in names_in(row, column):
        account, rank = place.split(":")
        places.append((account.strip(), float(rank)))
    return places


def day_of(cell: str) -> int:
    return date.fromisoformat(cell).toordinal()


def items_of(tables: Tables) -> Row:
    return {row["item"]: text(row, "value") for row in tables["deal"]}


def by_key(tables: Tables, table: str) -> dict[str, Row]:
    return {row[KEYS[table]]: row for row in tables.get(table, [])}


def scenario_names(tables: Tables) -> list[str]:
    return list(dict.fromkeys(["base", *(row["scenario"] for row in tables.get("scenarios", []))]))


def scenario_tables(tables: Tables, scenario: str) -> tuple[Tables, dict[tuple[str, str], Row]]:
    """The sheets as the scenario has them, and apart from them its cells for one (step, phase)."""
    changed = {name: [dict(row) for row in rows] for name, rows in tables.items()}
    narrowed: dict[tuple[str, str], Row] = {}
    for change in tables.get("scenarios", []):
        if change["scenario"] != scenario:
            continue
        table, key = change["table"], change["row"]
        column, value = text(change, "column", "value"), text(change, "value")
        if table == "steps" and "@" in key:
            step, phase = key.split("@")
            narrowed.setdefault((step, phase), {})[column] = value
        elif table == "deal" and key not in items_of(changed):
            changed["deal"].append({"item": key, "value": value})  # an item the sheets leave at its default
        else:
            by_key(changed, table)[key][column] = value
    return changed, narrowed


# The calendar ---------------------------------------------------------------------------------------------------------


def add_months(day: date, months: int) -> date:
    """The same day of a later month, or that month's last day where it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def period_starts(items: Row) -> list[date]:
    """The first day of every period, and of the one after the last."""
    start = date.fromisoformat(items["start"])
    quarters = int(float(items["quarters"]))
    if items.get("grid") == "month":
        return [add_months(start, month) for month in range(3 * quarters + 1)]
    return [add_months(start, 3 * quarter) for quarter in range(quarters + 1)]


def label(day: date, grid: str | None) -> str:
    return f"{day:%Y-%m}" if grid == "month" else f"{day.year}Q{(day.month + 2) // 3}"


def overlap(first: int, end: int, other_first: int, other_end: int) -> int:
    return max(0, min(end, other_end) - max(first, other_first))


def accrued(per_day: float, escalator: float, origin: int, end: int, first: int, after: int) -> float:
    """What accrues from `first` up to `after` of a run from `origin` up to `end`, growing every 365 days."""
    first, after = max(first, origin), min(after, end)
    total = 0.0
    while first < after:
        year = (first - origin) // 365
        stop = min(after, origin + 365 * (year + 1))
        total += per_day * (1 + escalator) ** year * (stop - first)
        first = stop
    return total


# The schedule ---------------------------------------------------------------------------------------------------------


@dataclass
class Step:
    """A step in one phase."""

    after: list[str]
    days: int
    delay: int
    not_before: int
    status: str


def phase_steps(tables: Tables, narrowed: dict[tuple[str, str], Row], phase: str) -> dict[str, Step]:
    steps = {}
    for plain in tables["steps"]:
        row = {**plain, **narrowed.get((plain["step"], phase), {})}
        not_before = text(row, "not_before")
        steps[row["step"]] = Step(
            after=names_in(row, "after"),
            days=days_in(row, "days", 0),
            delay=days_in(row, "delay", 0),
            not_before=day_of(not_before) if not_before else 0,
            status=text(row, "status"),
        )
    return steps


def finishes(steps: dict[str, Step], order: int, undelayed: str | None = None) -> dict[str, int]:
    """When each step of a phase ends, predecessors first; `undelayed` is a step whose delay is left out."""
    finish: dict[str, int] = {}

    def end_of(name: str) -> int:
        if name not in finish:
            step = steps[name]
            begin = max([order, step.not_before, *(end_of(before) for before in step.after)])
            finish[name] = begin + step.days + (0 if name == undelayed else step.delay)
        return finish[name]

    for name in steps:
        end_of(name)
    return finish


def floats(steps: dict[str, Step], finish: dict[str, int]) -> dict[str, int]:
    """By how many days each step could end later without moving the phase's last finish."""
    latest = dict.fromkeys(finish, max(finish.values()))
    for name in reversed(finish):  # successors come after their predecessors
        step = steps[name]
        for before in step.after:
            latest[before] = min(latest[before], latest[name] - step.days - step.delay)
    return {name: latest[name] - finish[name] for name in finish}


def stuck_step(steps: dict[str, Step], relief: dict[str, int], float_: dict[str, int]) -> str | None:
    """The step whose cure helps a late phase most; where none helps alone, the longest delay without float."""
    helps = [name for name in steps if relief[name] > 0]
    if helps:
        return max(helps, key=lambda name: relief[name])
    critical = [name for name in steps if steps[name].delay > 0 and float_[name] == 0]
    return max(critical, key=lambda name: steps[name].delay, default=None)


def plan(tables: Tables) -> tuple[dict[str, int], dict[str, int]]:
    """Each phase's last finish and billing as promised at signing: the base sheets without any delay."""
    last = {}
    for row in tables["phases"]:
        steps = phase_steps(tables, {}, row["phase"])
        for step in steps.values():
            step.delay = 0
        last[row["phase"]] = max(finishes(steps, day_of(row["order_date"])).values())
    if items_of(tables).get("billing_unit") == "deal":
        return last, dict.fromkeys(last, max(last.values()))
    return last, last


@dataclass
class Schedule:
    """The days of one scenario; billing is NEVER in a cancelled phase, cancelled is NEVER in every other."""

    order: dict[str, int]
    steps: dict[str, dict[str, Step]]
    finish: dict[str, dict[str, int]]
    billing: dict[str, int]
    cancelled: dict[str, int]
    planned: dict[str, int]

    def trigger(self, name: str, phase: str) -> int:
        """The day of a trigger in one phase."""
        if name == "order":
            return self.order[phase]
        if name == "billing":
            return self.billing[phase]
        if name in self.finish[phase]:
            return self.finish[phase][name]
        return day_of(name)

    def deal_wide(self, name: str, blank: int | None = None) -> int:
        """The day of a trigger in the latest phase; billing passes cancelled phases over."""
        if name == "" and blank is not None:
            return blank
        if name == "billing":
            return max((day for day in self.billing.values() if day != NEVER), default=NEVER)
        return max(self.trigger(name, phase) for phase in self.order)


def schedule(
    tables: Tables,
    narrowed: dict[tuple[str, str], Row],
    planned_last: dict[str, int],
    planned: dict[str, int],
) -> Schedule:
    contracts = by_key(tables, "contracts")
    order, steps, finish, billing, cancelled = {}, {}, {}, {}, {}
    for row in tables["phases"]:
        phase = row["phase"]
        order[phase] = day_of(row["order_date"])
        steps[phase] = phase_steps(tables, narrowed, phase)
        finish[phase] = finishes(steps[phase], order[phase])
        last = max(finish[phase].values())
        longstop = days_in(contracts.get(text(row, "contract"), {}), "longstop_days", NEVER)
        late = last - planned_last[phase] > longstop
        cancelled[phase] = planned_last[phase] + longstop if late else NEVER
        billing[phase] = min(last, cancelled[phase])  # the day this phase stops holding up the others
    if items_of(tables).get("billing_unit") == "deal":
        billing = dict.fromkeys(billing, max(billing.values()))
    for phase in billing:
        if cancelled[phase] != NEVER:
            billing[phase] = NEVER
    return Schedule(order, steps, finish, billing, cancelled, planned)


# Quantities -----------------------------------------------------------------------------------------------------------


def once_quantity(basis: str, phase: Row) -> float:
    racks = number(phase, "racks", 0.0)
    if basis == "usd":
        return 1.0
    if basis == "usd_per_rack":
        return racks
    if basis == "usd_per_gpu":
        return racks * number(phase, "gpus_per_rack", 0.0)
    if basis == "usd_per_mw":
        return number(phase, "mw", 0.0)
    raise ValueError(f"{basis} is no basis of a once claim")


def daily_quantity(basis: str, phase: Row) -> float:
    mw = number(phase, "mw", 0.0)
    if basis == "usd_per_kw_month":
        return mw * 1000 * 12 / 365
    if basis == "usd_per_mw_year":
        return mw / 365
    if basis == "usd_per_gpu_hour":
        return number(phase, "racks", 0.0) * number(phase, "gpus_per_rack", 0.0) * 24
    if basis == "usd_per_mwh":
        return mw * 24
    if basis == "usd_per_year":
        return 1 / 365
    raise ValueError(f"{basis} is no basis per day")


# Contracts ------------------------------------------------------------------------------------------------------------


@dataclass
class Bills:
    """One phase under its contract: the days it bills, and what its customer prepays, is credited and is owed back."""

    contract: str
    customer: str
    account: str
    prepay_account: str
    per_day: float
    escalator: float
    begin: int
    end: int
    net_days: int
    prepayment: float
    prepaid_on: int
    credit: float
    owed_back: float
    owed_on: int

    def billed(self, first: int, after: int) -> float:
        return accrued(self.per_day, self.escalator, self.begin, self.end, first, after)

    def collected(self, first: int, after: int) -> float:
        return self.billed(first - self.net_days, after - self.net_days) * (1 - self.credit)

    def prepaid(self, first: int, after: int) -> float:
        return self.prepayment if first <= self.prepaid_on < after else 0.0


def bills_of(phase: Row, contract: Row, dates: Schedule) -> Bills:
    name = phase["phase"]
    per_day = (
        number(contract, "price")
        * daily_quantity(text(contract, "basis"), phase)
        * max(number(contract, "take_or_pay", 0.0), number(contract, "utilisation", 1.0))
    )
    escalator = number(contract, "escalator", 0.0)
    term_days = days_in(contract, "term_days")
    cancelled = dates.cancelled[name]
    begin = dates.billing[name]
    end = begin + term_days
    if text(contract, "end_rule") == "fixed":
        end = dates.planned[name] + term_days
    prepayment = number(contract, "prepay_share", 0.0) * accrued(per_day, escalator, 0, term_days, 0, term_days)
    prepaid_on = dates.trigger(text(contract, "prepay_trigger", "order"), name)
    if prepaid_on >= cancelled:
        prepayment = 0.0
    total = accrued(per_day, escalator, begin, end, begin, end) if cancelled == NEVER else 0.0
    credit = min(1.0, prepayment / total) if total > 0 else 0.0
    return Bills(
        contract=contract["contract"],
        customer=text(contract, "customer"),
        account=text(contract, "account"),
        prepay_account=text(contract, "prepay_account", text(contract, "account")),
        per_day=per_day,
        escalator=escalator,
        begin=begin,
        end=end,
        net_days=days_in(contract, "net_days", 0),
        prepayment=prepayment,
        prepaid_on=prepaid_on,
        credit=credit,
        owed_back=max(0.0, prepayment - total),
        owed_on=end if cancelled == NEVER else cancelled,
    )


# Claims ---------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Claim:
    """A claim and where it stands in the period at hand."""

    name: str
    payee: str
    kind: str
    places: list[tuple[str, float]]
    late_rate: float = 0.0
    dues: list[tuple[int, float]] = field(default_factory=list)  # (day, amount) of a once claim or a refund
    runs: list[tuple[int, int, float, float]] = field(default_factory=list)  # (from, to, per day, escalator)
    net_days: int = 0
    due: float = 0.0
    late: float = 0.0
    carried: float = 0.0  # unpaid at the end of the period before
    paid: float = 0.0

    @property
    def open(self) -> float:
        return self.carried + self.late + self.due - self.paid

    def due_in(self, first: int, after: int) -> float:
        total = sum(amount for day, amount in self.dues if first <= day < after)
        for begin, end, per_day, escalator in self.runs:
            total += accrued(per_day, escalator, begin, end, first - self.net_days, after - self.net_days)
        return total

    def rank_in(self, account: str) -> float | None:
        return next((rank for place, rank in self.places if place == account), None)


def once_dues(row: Row, phases: dict[str, Row], dates: Schedule) -> list[tuple[str, int, float]]:
    """(phase or `deal`, day, amount) of a once claim."""
    amount = number(row, "rate") * number(row, "share", 1.0)
    basis, trigger, net_days = text(row, "basis"), text(row, "trigger"), days_in(row, "net_days", 0)
    if text(row, "phase") == "deal":
        return [("deal", dates.deal_wide(trigger) + net_days, amount * once_quantity(basis, {}))]
    return [
        (name, dates.trigger(trigger, name) + net_days, amount * once_quantity(basis, phases[name]))
        for name in names_in(row, "phase") or phases
    ]


def recurring_runs(row: Row, phases: dict[str, Row], dates: Schedule) -> list[tuple[int, int, float, float]]:
    amount = number(row, "rate") * number(row, "share", 1.0)
    basis, trigger = text(row, "basis"), text(row, "trigger")
    if text(row, "phase") == "deal":
        begins = [(dates.deal_wide(trigger), daily_quantity(basis, {}))]
    else:
        begins = [
            (dates.trigger(trigger, name), daily_quantity(basis, phases[name]))
            for name in names_in(row, "phase") or phases
        ]
    term_days, escalator = days_in(row, "term_days", NEVER), number(row, "escalator", 0.0)
    return [(begin, begin + term_days, amount * quantity, escalator) for begin, quantity in begins]


def table_claims(tables: Tables, dates: Schedule, start: int) -> list[Claim]:
    phases = by_key(tables, "phases")
    claims = []
    for row in tables.get("claims", []):
        claim = Claim(row["claim"], text(row, "payee"), text(row, "kind"), places_in(row, "paid_from"))
        claim.late_rate = number(row, "late_rate", 0.0)
        claim.net_days = days_in(row, "net_days", 0)
        if claim.kind == "once":
            claim.dues = [(day, amount) for _, day, amount in once_dues(row, phases, dates)]
            if any(day < start for day, _ in claim.dues):
                raise ValueError(f"claims, {claim.name}: falls due before the start of the deal")
        elif claim.kind == "recurring":
            claim.runs = recurring_runs(row, phases, dates)
        claims.append(claim)
    return claims


def refund_claims(tables: Tables, bills: dict[str, Bills]) -> list[Claim]:
    claims = []
    for name, row in by_key(tables, "contracts").items():
        refund = Claim(f"{name}.refund", text(row, "customer"), "refund", places_in(row, "refund_from"))
        refund.dues = [(bill.owed_on, bill.owed_back) for bill in bills.values() if bill.contract == name]
        claims.append(refund)
    return claims


# Facilities -----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Facility:
    """A facility, its three claims and how much of it is drawn, due and outstanding so far."""

    name: str
    lender: str
    account: str
    fee: Claim
    interest: Claim
    principal: Claim
    commitment: float
    opening_balance: float
    advance_rate: float
    commitment_fee: float
    upfront_fee: float
    rate: float  # a year of 360 days
    default_margin: float
    available_from: int
    available_until: int
    eligible: list[tuple[int, float]]  # (the day it counts, amount)
    instalments: list[int]
    drawn: float
    balance: float
    fallen_due: float = 0.0

    def is_open(self, first: int) -> bool:
        return self.available_from <= first < self.available_until

    def eligible_by(self, after: int) -> float:
        end = min(after, self.available_until)
        return sum(amount for day, amount in self.eligible if day < end)

    def limit(self, after: int) -> float:
        return min(self.commitment, self.opening_balance + self.advance_rate * self.eligible_by(after))

    def principal_due(self, first: int, after: int) -> float:
        left = sum(day >= first for day in self.instalments)
        if left == 0:
            return self.drawn - self.fallen_due
        return (self.drawn - self.fallen_due) / left * sum(first <= day < after for day in self.instalments)

    def begin_period(self, first: int, after: int) -> None:
        """What falls due whatever is drawn this period, and what is added for being late."""
        year = (after - first) / 360
        inside = overlap(first, after, self.available_from, self.available_until)
        undrawn = self.commitment - self.drawn
        self.fee.due = self.commitment_fee * undrawn * inside / 360
        self.interest.due = self.balance * self.rate * year
        self.principal.due = self.principal_due(first, after)
        self.fallen_due += self.principal.due
        overdue_rate = self.rate + self.default_margin
        self.fee.late = self.fee.carried * overdue_rate * year
        self.interest.late = (
            self.interest.carried * overdue_rate + self.principal.carried * self.default_margin
        ) * year

    def draw(self, amount: float, first: int, after: int) -> None:
        self.drawn += amount
        self.balance += amount
        self.fee.due += self.upfront_fee * amount
        self.interest.due += amount / 2 * self.rate * (after - first) / 360


def eligible_amounts(tables: Tables, row: Row, dates: Schedule, available_from: int) -> list[tuple[int, float]]:
    claims, phases, condition = by_key(tables, "claims"), by_key(tables, "phases"), text(row, "condition")
    amounts = []
    for name in names_in(row, "eligible"):
        for phase, due, amount in once_dues(claims[name], phases, dates):
            counts_on = max(due, available_from)
            if condition:
                met = dates.deal_wide(condition) if phase == "deal" else dates.trigger(condition, phase)
                counts_on = max(counts_on, met)
            amounts.append((counts_on, amount))
    return amounts


def instalment_days(row: Row, first_repayment: int) -> list[int]:
    count, months = days_in(row, "instalments"), days_in(row, "repay_every_months", 3)
    if first_repayment == NEVER:
        return [NEVER] * count
    first = date.fromordinal(first_repayment)
    return [add_months(first, months * number).toordinal() for number in range(count)]


def facility_of(tables: Tables, row: Row, dates: Schedule) -> Facility:
    name, lender = row["facility"], text(row, "lender")
    base_rate = float(items_of(tables).get("base_rate") or 0.0)
    first_repayment = dates.deal_wide(text(row, "first_repayment"))
    available_from = dates.deal_wide(text(row, "available_from"), blank=0)
    opening = number(row, "opening_balance", 0.0)
    return Facility(
        name=name,
        lender=lender,
        account=text(row, "account"),
        fee=Claim(f"{name}.fee", lender, "fee", places_in(row, "fee_from")),
        interest=Claim(f"{name}.interest", lender, "interest", places_in(row, "interest_from")),
        principal=Claim(f"{name}.principal", lender, "principal", places_in(row, "principal_from")),
        commitment=number(row, "commitment"),
        opening_balance=opening,
        advance_rate=number(row, "advance_rate"),
        commitment_fee=number(row, "commitment_fee", 0.0),
        upfront_fee=number(row, "upfront_fee", 0.0),
        rate=max(base_rate, number(row, "floor", 0.0)) + number(row, "margin"),
        default_margin=number(row, "default_margin", 0.0),
        available_from=available_from,
        available_until=dates.deal_wide(text(row, "available_until"), blank=first_repayment),
        eligible=eligible_amounts(tables, row, dates, available_from),
        instalments=instalment_days(row, first_repayment),
        drawn=opening,
        balance=opening,
    )


def claims_ahead(facility: Facility, payable: list[Claim]) -> list[Claim]:
    """What ranks before the principal where it is first placed, the facility's own fee and interest apart."""
    account, own_rank = facility.principal.places[0]
    others = [claim for claim in payable if claim not in (facility.fee, facility.interest)]
    return [claim for claim in others if (rank := claim.rank_in(account)) is not None and rank < own_rank]


# Supports and residuals -----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Support:
    name: str
    left: float
    available_from: int
    available_until: int
    covers: set[str]


def support_of(row: Row, claims: list[Claim], dates: Schedule) -> Support:
    account = text(row, "account")
    firsts = {claim.name for claim in claims if claim.places and claim.places[0][0] == account}
    return Support(
        name=row["support"],
        left=number(row, "commitment", float("inf")),
        available_from=dates.deal_wide(text(row, "available_from"), blank=0),
        available_until=dates.deal_wide(text(row, "available_until"), blank=NEVER),
        covers=set(names_in(row, "covers")) or firsts,
    )


@dataclass(eq=False)
class Residual:
    claim: Claim
    begins: int
    lockup: list[Claim]

    def is_open(self, first: int) -> bool:
        return self.begins <= first and sum(claim.carried for claim in self.lockup) <= HALF_CENT


def residual_of(row: Row, claim: Claim, claims: list[Claim], accounts: list[str], dates: Schedule) -> Residual:
    named = set(names_in(row, "lockup"))
    lockup = [] if claim.payee in accounts else claims
    if named:
        lockup = [other for other in claims if other.name in named]
    return Residual(claim, dates.deal_wide(text(row, "trigger")), lockup)


# The cash -------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Account:
    """An account, the ranks placed in it and what acts on it, all in the order they act."""

    name: str
    cash: float
    minimum_cash: float
    ranks: list[list[Claim]]
    facilities: list[Facility]
    supports: list[Support]
    residuals: list[Residual]
    paid_in: float = 0.0


def accounts_of(
    tables: Tables, claims: list[Claim], facilities: list[Facility], supports: dict[str, Support], dates: Schedule
) -> dict[str, Account]:
    names = [row["account"] for row in tables["accounts"]]
    rows = by_key(tables, "claims")
    payable = [claim for claim in claims if claim.kind != "residual"]
    residuals = [
        residual_of(rows[claim.name], claim, payable, names, dates) for claim in claims if claim.kind == "residual"
    ]
    accounts = {}
    for row in tables["accounts"]:
        name = row["account"]
        placed = [(rank, claim) for claim in payable if (rank := claim.rank_in(name)) is not None]
        paid_last = [(rank, residual) for residual in residuals if (rank := residual.claim.rank_in(name)) is not None]
        accounts[name] = Account(
            name=name,
            cash=number(row, "opening_cash", 0.0),
            minimum_cash=number(row, "minimum_cash", 0.0),
            ranks=[[claim for rank, claim in placed if rank == this] for this in sorted({rank for rank, _ in placed})],
            facilities=[facility for facility in facilities if facility.account == name],
            supports=[supports[row["support"]] for row in tables.get("supports", []) if text(row, "account") == name],
            residuals=[residual for _, residual in sorted(paid_last, key=lambda pair: pair[0])],
        )
    return accounts


class Run:
    """One scenario on its way through the periods."""

    def __init__(self, tables: Tables, dates: Schedule, starts: list[date], result: Result) -> None:
        self.tables, self.dates, self.result = tables, dates, result
        self.starts = [day.toordinal() for day in starts]
        contracts = by_key(tables, "contracts")
        self.bills = {
            row["phase"]: bills_of(row, contracts[text(row, "contract")], dates)
            for row in tables["phases"]
            if text(row, "contract")
        }
        self.facilities = [facility_of(tables, row, dates) for row in tables.get("facilities", [])]
        self.claims = table_claims(tables, dates, self.starts[0]) + refund_claims(tables, self.bills)
        for facility in self.facilities:
            self.claims += [facility.fee, facility.interest, facility.principal]
        payable = [claim for claim in self.claims if claim.kind != "residual"]
        self.ahead = {facility.name: claims_ahead(facility, payable) for facility in self.facilities}
        self.supports = {row["support"]: support_of(row, payable, dates) for row in tables.get("supports", [])}
        self.accounts = accounts_of(tables, self.claims, self.facilities, self.supports, dates)

    def settle(self) -> None:
        for first, after in zip(self.starts, self.starts[1:], strict=False):
            collections, prepayments = self.customers(first, after)
            self.begin_claims(first, after)
            for account in self.accounts.values():
                account.cash += collections[account.name] + prepayments[account.name] + account.paid_in
                account.paid_in = 0.0
                self.draw(account, first, after)
                self.pay_ranks(account)
                self.pay_supports(account, first)
                self.pay_residuals(account, first)
                self.result.cash_closing[account.name].append(account.cash)
            self.record(collections)

    def customers(self, first: int, after: int) -> tuple[dict[str, float], dict[str, float]]:
        """What the customers pay into each account: on their bills, and ahead of them."""
        collections, prepayments = dict.fromkeys(self.accounts, 0.0), dict.fromkeys(self.accounts, 0.0)
        for phase in self.dates.order:
            bills = self.bills.get(phase)
            billed = collected = prepaid = 0.0
            if bills:
                billed, collected = bills.billed(first, after), bills.collected(first, after)
                prepaid = bills.prepaid(first, after)
                collections[bills.account] += collected
                prepayments[bills.prepay_account] += prepaid
            self.result.billed[phase].append(billed)
            self.result.collected[phase].append(collected)
            self.result.prepaid[phase].append(prepaid)
        return collections, prepayments

    def begin_claims(self, first: int, after: int) -> None:
        for claim in self.claims:
            claim.carried, claim.paid = claim.open, 0.0
            claim.due = claim.due_in(first, after)
            claim.late = claim.carried * claim.late_rate * (after - first) / 365
        for facility in self.facilities:
            facility.begin_period(first, after)

    def draw(self, account: Account, first: int, after: int) -> None:
        for facility in account.facilities:
            amount = 0.0
            if facility.is_open(first):
                need = sum(claim.open for rank in account.ranks for claim in rank) - account.cash
                amount = max(0.0, min(need, facility.limit(after) - facility.drawn))
                facility.draw(amount, first, after)
                account.cash += amount
            record = self.result.facilities[facility.name]
            record["draw"].append(amount)
            record["eligible"].append(facility.eligible_by(after))
            record["limit"].append(facility.limit(after))

    def pay(self, claim: Claim, amount: float) -> None:
        claim.paid += amount
        if claim.payee in self.accounts:
            self.accounts[claim.payee].paid_in += amount

    def pay_ranks(self, account: Account) -> None:
        for rank in account.ranks:
            wanted = [claim.open for claim in rank]
            total = sum(wanted)
            in_full = account.cash >= total - NEARLY
            part = 1.0 if in_full or total == 0.0 else max(account.cash, 0.0) / total
            for claim, want in zip(rank, wanted, strict=True):
                self.pay(claim, want * part)
                account.cash -= want * part
                record = {"claimed": want, "cash": want * part, "support": 0.0}
                self.result.placed[claim.name, account.name].append(record)

    def pay_supports(self, account: Account, first: int) -> None:
        for support in account.supports:
            paid = 0.0
            if support.available_from <= first < support.available_until:
                for rank in account.ranks:
                    covered = [claim for claim in rank if claim.name in support.covers]
                    wanted = [claim.open for claim in covered]
                    total = sum(wanted)
                    part = min(1.0, support.left / total) if total > 0 else 0.0
                    for claim, want in zip(covered, wanted, strict=True):
                        self.pay(claim, want * part)
                        self.result.placed[claim.name, account.name][-1]["support"] += want * part
                    support.left = max(0.0, support.left - total * part)
                    paid += total * part
            self.result.support_paid[support.name].append(paid)

    def pay_residuals(self, account: Account, first: int) -> None:
        for residual in account.residuals:
            amount = max(0.0, account.cash - account.minimum_cash) if residual.is_open(first) else 0.0
            residual.claim.due += amount
            self.pay(residual.claim, amount)
            account.cash -= amount
            record = {"claimed": amount, "cash": amount, "support": 0.0}
            self.result.placed[residual.claim.name, account.name].append(record)

    def record(self, collections: dict[str, float]) -> None:
        for claim in self.claims:
            self.result.claims[claim.name].append(
                {
                    "due": claim.due,
                    "late": claim.late,
                    "claimed": claim.carried + claim.late + claim.due,
                    "paid": claim.paid,
                    "unpaid": claim.open,
                }
            )
        for facility in self.facilities:
            facility.balance -= facility.principal.paid
            record = self.result.facilities[facility.name]
            record["balance_closing"].append(facility.balance)
            record["dscr"].append(self.dscr(facility, collections))

    def dscr(self, facility: Facility, collections: dict[str, float]) -> float | None:
        """Collections left after what falls due ahead of the principal, to the debt service; None without service."""
        service = facility.interest.due + facility.principal.due
        if service <= NEARLY:
            return None
        account, _ = facility.principal.places[0]
        return (collections[account] - sum(claim.due for claim in self.ahead[facility.name])) / service


# The result -----------------------------------------------------------------------------------------------------------


def maybe_date(day: int) -> date | None:
    return None if day == NEVER else date.fromordinal(day)


def record_schedule(result: Result, dates: Schedule) -> None:
    for phase, finish in dates.finish.items():
        steps, last = dates.steps[phase], max(finish.values())
        float_ = floats(steps, finish)
        relief = dict.fromkeys(steps, 0)
        for name, step in steps.items():
            if step.delay:
                relief[name] = last - max(finishes(steps, dates.order[phase], undelayed=name).values())
        cancelled = dates.cancelled[phase] != NEVER
        days_late = None if cancelled else dates.billing[phase] - dates.planned[phase]
        late = days_late is None or days_late > 0
        for name in steps:
            result.finish[phase, name] = date.fromordinal(finish[name])
            result.relief[phase, name] = relief[name]
            result.float_[phase, name] = float_[name]
        result.last_finish[phase] = date.fromordinal(last)
        result.planned_billing[phase] = date.fromordinal(dates.planned[phase])
        result.billing[phase] = maybe_date(dates.billing[phase])
        result.cancelled[phase] = maybe_date(dates.cancelled[phase])
        result.days_late[phase] = days_late
        result.stuck_step[phase] = stuck_step(steps, relief, float_) if late else None


def reached_on(dates: Schedule, phase: str, status: str) -> int:
    """The day a phase reaches a status other than billing: the last of the steps that grant it."""
    if status == "contracted":
        return dates.order[phase]
    granting = [dates.finish[phase][name] for name, step in dates.steps[phase].items() if step.status == status]
    return max(granting, default=NEVER)


def record_mw(result: Result, run: Run) -> None:
    result.mw = {status: [] for status in STATUSES}
    phase_mw = {row["phase"]: number(row, "mw", 0.0) for row in run.tables["phases"]}
    reached = {(phase, status): reached_on(run.dates, phase, status) for phase in phase_mw for status in STATUSES[:-1]}
    for after in run.starts[1:]:
        totals = dict.fromkeys(STATUSES, 0.0)
        for phase, mw in phase_mw.items():
            for status in STATUSES[:-1]:
                if reached[phase, status] < after:
                    totals[status] += mw
            bills = run.bills.get(phase)
            if bills and bills.begin < after <= bills.end:  # the period's last day is billed
                totals["billing"] += mw
        for status in STATUSES:
            result.mw[status].append(totals[status])


def record_customers(result: Result, run: Run) -> None:
    for phase, bills in run.bills.items():
        total = bills.billed(bills.begin, bills.end)
        result.prepayment[phase] = bills.prepayment
        result.credited[phase] = total * bills.credit
        result.owed_back[phase] = bills.owed_back


def record_parties(result: Result, run: Run) -> None:
    """Claims summed by payee, and what each party puts in: draws, supports, collections and prepayments."""
    tables = run.tables
    for party in by_key(tables, "parties"):
        claims = [result.claims[claim.name] for claim in run.claims if claim.payee == party]
        inputs = [result.facilities[facility.name]["draw"] for facility in run.facilities if facility.lender == party]
        inputs += [
            result.support_paid[row["support"]] for row in tables.get("supports", []) if text(row, "party") == party
        ]
        for phase, bills in run.bills.items():
            if bills.customer == party:
                inputs += [result.collected[phase], result.prepaid[phase]]
        result.parties[party] = []
        for period in range(len(result.periods)):
            sums = {name: sum(claim[period][name] for claim in claims) for name in ("due", "paid", "unpaid")}
            sums["put_in"] = sum(flow[period] for flow in inputs)
            sums["net"] = sums["paid"] - sums["put_in"]
            result.parties[party].append(sums)


def run_scenario(tables: Tables, scenario: str, planned_last: dict[str, int], planned: dict[str, int]) -> Result:
    changed, narrowed = scenario_tables(tables, scenario)
    items = items_of(changed)
    starts = period_starts(items)
    dates = schedule(changed, narrowed, planned_last, planned)
    result = Result([label(day, items.get("grid")) for day in starts[:-1]], starts[:-1])
    run = Run(changed, dates, starts, result)
    result.claims = {claim.name: [] for claim in run.claims}
    result.placed = {(claim.name, account): [] for claim in run.claims for account, _ in claim.places}
    result.cash_closing = {name: [] for name in run.accounts}
    result.support_paid = {name: [] for name in run.supports}
    result.facilities = {
        facility.name: {"draw": [], "balance_closing": [], "eligible": [], "limit": [], "dscr": []}
        for facility in run.facilities
    }
    for lists in (result.billed, result.collected, result.prepaid):
        lists.update({phase: [] for phase in dates.order})
    record_schedule(result, dates)
    record_customers(result, run)
    run.settle()
    record_mw(result, run)
    record_parties(result, run)
    return result


def run(tables: Tables, scenarios: list[str] | None = None) -> dict[str, Result]:
    """Every scenario of the deal, or those named."""
    planned_last, planned = plan(tables)
    names = scenario_names(tables) if scenarios is None else scenarios
    return {name: run_scenario(tables, name, planned_last, planned) for name in names}
