"""The schedule: when each step ends in each phase, what was planned, what each delay costs, when billing begins."""

from collections.abc import Mapping
from graphlib import TopologicalSorter

from stuckstep.deal import Sheets

from .constants import constant
from .expression import ONE, ZERO, Node, below, choose, least, most, total, upto
from .inputs import DEAL, amount, base_amount, is_blank, listed
from .lines import Lines


def add_schedule(lines: Lines, sheets: Sheets, plan: Sheets) -> None:
    """The steps and the billing date of every phase, planned and as they come, then the deal-wide dates."""
    for phase in sheets.keys("phases"):
        _add_plan(lines, plan, phase)
        _add_steps(lines, sheets, phase)
    for phase in sheets.keys("phases"):
        _add_cancellation(lines, sheets, phase)
    for phase in sheets.keys("phases"):
        _add_billing(lines, sheets, plan, phase)
    _add_deal_wide(lines, sheets)


def predecessors(sheets: Sheets, phase: str) -> Mapping[str, tuple[str, ...]]:
    """The steps each step waits for in a phase, in an order in which every step comes after those it waits for."""
    after = {step: listed(sheets, "steps", step, "after", phase) or () for step in sheets.keys("steps")}
    return {step: after[step] for step in TopologicalSorter(after).static_order()}


def _add_plan(lines: Lines, plan: Sheets, phase: str) -> None:
    order = base_amount(plan, "phases", phase, "order_date")
    finishes = []
    for step, waits_for in predecessors(plan, phase).items():
        starts = [order, *(lines.at("steps", other, "planned finish", phase) for other in waits_for)]
        if not is_blank(plan, "steps", step, "not_before", phase):
            starts.append(base_amount(plan, "steps", step, "not_before", phase))
        planned = most(*starts) + base_amount(plan, "steps", step, "days", phase)
        says = f"when {step} was to end in {phase}, by the base sheets without any delay"
        finishes.append(lines.add("steps", step, "planned finish", "date", says, planned, phase=phase))
    says = f"when the last step of {phase} was to end"
    lines.add("phases", phase, "planned finish", "date", says, most(*finishes))


def _add_steps(lines: Lines, sheets: Sheets, phase: str) -> None:
    waits = predecessors(sheets, phase)
    for step, waits_for in waits.items():
        before = [lines.at("steps", other, "finish", phase) for other in waits_for]
        start = _earliest_start(sheets, step, phase, before)
        opened = lines.add("steps", step, "start", "date", f"when {step} can begin in {phase}", start, phase=phase)
        finish = opened + amount(sheets, "steps", step, "days", phase) + amount(sheets, "steps", step, "delay", phase)
        lines.add("steps", step, "finish", "date", f"when {step} ends in {phase}", finish, phase=phase)
    last = most(*(lines.at("steps", step, "finish", phase) for step in sheets.keys("steps")))
    lines.add("phases", phase, "last finish", "date", f"when the last step of {phase} ends", last)
    _add_float(lines, sheets, phase, waits)
    for step in waits:
        _add_relief(lines, sheets, phase, waits, step)


def _earliest_start(sheets: Sheets, step: str, phase: str, before: list[Node]) -> Node:
    starts = [amount(sheets, "phases", phase, "order_date"), *before]
    if not is_blank(sheets, "steps", step, "not_before", phase):
        starts.append(amount(sheets, "steps", step, "not_before", phase))
    return most(*starts)


def _add_float(lines: Lines, sheets: Sheets, phase: str, waits: Mapping[str, tuple[str, ...]]) -> None:
    """How much later each step may end without moving the phase's last finish: from the end backwards."""
    end = lines.at("phases", phase, "last finish")
    for step in reversed(list(waits)):
        followers = [other for other, waits_for in waits.items() if step in waits_for]
        latest = [
            lines.at("steps", other, "latest finish", phase)
            - amount(sheets, "steps", other, "days", phase)
            - amount(sheets, "steps", other, "delay", phase)
            for other in followers
        ]
        says = f"how late {step} may end in {phase} without moving its last finish"
        latest_finish = lines.add("steps", step, "latest finish", "date", says, least(*latest or [end]), phase=phase)
        spare = latest_finish - lines.at("steps", step, "finish", phase)
        lines.add(
            "steps", step, "float", "days", f"days {step} may still slip in {phase} at no cost", spare, phase=phase
        )


def _add_relief(lines: Lines, sheets: Sheets, phase: str, waits: Mapping[str, tuple[str, ...]], cured: str) -> None:
    """The schedule downstream of one step once more, without that step's delay."""
    without: dict[str, Node] = {}
    for step, waits_for in waits.items():
        if step != cured and not any(other in without for other in waits_for):
            continue
        before = [without.get(other, lines.at("steps", other, "finish", phase)) for other in waits_for]
        days = amount(sheets, "steps", step, "days", phase)
        if step == cured:
            finish = lines.at("steps", step, "start", phase) + days
        else:
            delay = amount(sheets, "steps", step, "delay", phase)
            finish = _earliest_start(sheets, step, phase, before) + days + delay
        says = f"when {step} would end in {phase} without the delay of {cured}"
        without[step] = lines.add("relief", cured, f"{step} finish", "date", says, finish, phase=phase)
    finishes = (without.get(step, lines.at("steps", step, "finish", phase)) for step in sheets.keys("steps"))
    says = f"when the last step of {phase} would end without the delay of {cured}"
    end = lines.add("relief", cured, "last finish", "date", says, most(*finishes), phase=phase)
    gained = lines.at("phases", phase, "last finish") - end
    says = f"days by which {phase} would end earlier without the delay of {cured}"
    lines.add("steps", cured, "relief", "days", says, gained, phase=phase)


def _add_cancellation(lines: Lines, sheets: Sheets, phase: str) -> None:
    contract = sheets.cell("phases", phase, "contract")
    finish = lines.at("phases", phase, "last finish")
    planned = lines.at("phases", phase, "planned finish")
    if contract is None or is_blank(sheets, "contracts", str(contract), "longstop_days"):
        stop, cancelled = constant(lines, "never"), ZERO
    else:
        stop = planned + amount(sheets, "contracts", str(contract), "longstop_days")
        cancelled = below(stop, finish)
    says = f"the long-stop date of {phase}: what is not finished by then is cancelled on it"
    stop = lines.add("phases", phase, "long-stop", "date", says, stop)
    lines.add("phases", phase, "cancelled", "flag", f"whether {phase} is cancelled", cancelled)
    says = f"when {phase} ends or is cancelled, whichever comes first"
    lines.add("phases", phase, "own end", "date", says, least(finish, stop))


def _add_billing(lines: Lines, sheets: Sheets, plan: Sheets, phase: str) -> None:
    cancelled = lines.at("phases", phase, "cancelled")
    own = lines.at("phases", phase, "last finish")
    planned = lines.at("phases", phase, "planned finish")
    if sheets.cell("deal", "billing_unit", "value") == DEAL:
        own = most(*(lines.at("phases", other, "own end") for other in sheets.keys("phases")))
    if plan.cell("deal", "billing_unit", "value") == DEAL:
        planned = most(*(lines.at("phases", other, "planned finish") for other in plan.keys("phases")))
    says = f"when billing of {phase} was to begin"
    planned = lines.add("phases", phase, "planned billing", "date", says, planned)
    starts = choose(cancelled, constant(lines, "never"), own)
    billing = lines.add("phases", phase, "billing", "date", f"when billing of {phase} begins", starts)
    says = f"days by which billing of {phase} begins later than planned"
    lines.add("phases", phase, "days late", "days", says, billing - planned)
    order = amount(sheets, "phases", phase, "order_date")
    lines.add("phases", phase, "order", "date", f"when {phase} is ordered", order)


def _add_deal_wide(lines: Lines, sheets: Sheets) -> None:
    """The dates that hold for the whole deal: the latest phase decides, and a cancelled one no longer bills."""
    phases = sheets.keys("phases")
    orders = most(*(lines.at("phases", phase, "order") for phase in phases))
    lines.add("phases", DEAL, "order", "date", "when the last phase is ordered", orders)
    alive = [ONE - lines.at("phases", phase, "cancelled") for phase in phases]
    count = lines.add("phases", DEAL, "alive", "number", "phases that are not cancelled", total(alive))
    billing = [
        choose(lines.at("phases", phase, "cancelled"), ZERO, lines.at("phases", phase, "billing")) for phase in phases
    ]
    starts = choose(upto(ONE, count), most(*billing), constant(lines, "never"))
    lines.add("phases", DEAL, "billing", "date", "when the last phase that is left begins to bill", starts)
    for step in sheets.keys("steps"):
        finish = most(*(lines.at("steps", step, "finish", phase) for phase in phases))
        lines.add("steps", step, "finish", "date", f"when {step} ends in the last phase", finish, phase=DEAL)
