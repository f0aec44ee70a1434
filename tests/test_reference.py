"""The reference against the worked deal, hand-worked small deals, and the laws on random deals."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import reference
import strategies

pytestmark = pytest.mark.thorough

SUPERPOD = Path(__file__).parent / "golden" / "superpod"
CENT = 0.01


@pytest.fixture(scope="module")
def superpod():
    return reference.run(reference.read_tables(SUPERPOD))


def expected(name):
    with (SUPERPOD / "expected" / name).open(newline="") as file:
        return list(csv.DictReader(file))


# The worked deal ------------------------------------------------------------------------------------------------------


def test_superpod_claims(superpod):
    listed = {(row["scenario"], row["claim"], row["period"]): row for row in expected("claims.csv")}
    assert {key[0] for key in listed} == set(superpod)
    seen = set()
    for scenario, result in superpod.items():
        for claim, records in result.claims.items():
            for period, record in zip(result.periods, records, strict=True):
                seen.add((scenario, claim, period))
                row = listed.get((scenario, claim, period), {})  # an unlisted row is empty
                for column, value in record.items():
                    assert value == pytest.approx(float(row.get(column, 0)), abs=CENT), (scenario, claim, period)
    assert set(listed) <= seen


def test_superpod_cash(superpod):
    rows = expected("accounts.csv")
    assert len(rows) == 5 * 3 * 28
    for row in rows:
        result = superpod[row["scenario"]]
        cash = result.cash_closing[row["account"]][result.periods.index(row["period"])]
        assert cash == pytest.approx(float(row["cash_closing"]), abs=CENT), row


def test_superpod_facility(superpod):
    rows = expected("facilities.csv")
    assert len(rows) == 5 * 28
    for row in rows:
        result = superpod[row["scenario"]]
        period = result.periods.index(row["period"])
        for column in ("draw", "balance_closing"):
            value = result.facilities[row["facility"]][column][period]
            assert value == pytest.approx(float(row[column]), abs=CENT), row


def test_superpod_schedule(superpod):
    rows = expected("schedule.csv")
    assert len(rows) == 5 * 10
    for row in rows:
        result, day = superpod[row["scenario"]], date.fromisoformat(row["finish"])
        if row["step"] == "(billing)":
            assert (result.billing[row["phase"]], result.days_late[row["phase"]]) == (day, int(row["relief_days"]))
        else:
            key = row["phase"], row["step"]
            assert (result.finish[key], result.relief[key]) == (day, int(row["relief_days"]))


def test_superpod_stuck_steps(superpod):
    assert {scenario: result.stuck_step["su1"] for scenario, result in superpod.items()} == {
        "base": None,
        "power_late": "power",
        "spine_missing": "fabric",
        "onboarding_late": "onboarding",
        "everything": "power",
    }


# Hand-worked deals: round numbers, mostly 1000 a day (usd_per_year at 365 000), the sums worked in comments -----------


def table(cells):
    """Rows from lines of comma-separated cells, the first line naming the columns."""
    return list(csv.DictReader([line.strip() for line in cells.strip().splitlines()]))


def deal(quarters=4, grid="quarter", **sheets):
    """A small deal from 2027-01-01; what a test leaves out is one phase that takes 31 days, and one account."""
    tables = {
        "deal": f"""item,value
            start,2027-01-01
            quarters,{quarters}
            grid,{grid}""",
        "parties": """party
            owner
            supplier
            lender
            customer""",
        "phases": """phase,order_date
            ph,2027-01-01""",
        "steps": """step,party,days
            build,owner,31""",
        "accounts": """account,party
            acc,owner""",
    }
    sheets = {**tables, **sheets}
    return {name: table(cells) if isinstance(cells, str) else cells for name, cells in sheets.items()}


def facility(name, **cells):
    """A facility on `acc` that costs nothing and is repaid after most of these deals; cells say what is different."""
    places = dict.fromkeys(["fee_from", "interest_from"], "acc:1")
    return {
        **{"facility": name, "lender": "lender", "account": "acc", "commitment": "2000", "advance_rate": "1"},
        **{"eligible": "equip", "margin": "0", "first_repayment": "2028-01-01", "instalments": "1"},
        **{**places, "principal_from": "acc:50", **cells},
    }


def run(tables, scenario="base"):
    return reference.run(tables, [scenario])[scenario]


def of(records, column):
    """One column of a claim over the periods, rounded to a millionth."""
    return [round(record[column], 6) for record in records]


CANCELLATION = deal(
    phases="""phase,order_date,contract
        a,2027-01-01,con
        b,2027-01-01,con""",
    contracts="""contract,customer,account,basis,price,term_days,prepay_share,longstop_days,refund_from
        con,customer,acc,usd_per_year,365000,365,0.1,30,acc:10""",
    claims="""claim,paid_from,payee,kind,basis,rate,trigger,phase
        on_build,acc:20,supplier,once,usd,5,build,
        on_billing,acc:20,supplier,once,usd,7,billing,
        once_all_bill,acc:20,supplier,once,usd,11,billing,deal
        from_last_build,acc:20,supplier,recurring,usd_per_year,365000,build,deal""",
    scenarios="""scenario,table,row,column,value
        last_day,steps,build@b,delay,30
        cancelled,steps,build@b,delay,31
        never,steps,build,delay,31
        together,steps,build@b,delay,31
        together,deal,billing_unit,,deal
        prepaid_too_late,steps,build@b,delay,31
        prepaid_too_late,contracts,con,prepay_trigger,2027-03-03
        prepaid_in_time,steps,build@b,delay,31
        prepaid_in_time,contracts,con,prepay_trigger,2027-03-02""",
)


def test_longstop_is_passed_only_by_more_days():
    result = run(CANCELLATION, "last_day")  # 1 February + 30 days
    assert result.billing == {"a": date(2027, 2, 1), "b": date(2027, 3, 3)}
    assert result.cancelled == {"a": None, "b": None}


def test_a_cancelled_phase_never_bills_and_its_prepayment_is_due_back():
    result = run(CANCELLATION, "cancelled")
    assert result.billing == {"a": date(2027, 2, 1), "b": None}
    assert result.cancelled["b"] == date(2027, 3, 3)
    assert result.days_late == {"a": 0, "b": None}
    assert result.stuck_step == {"a": None, "b": "build"}
    # Each phase prepays 10% of 365 days at 1000 on its order. Only b's is owed back, in the first quarter.
    assert result.prepaid["b"] == pytest.approx([36_500, 0, 0, 0])
    assert of(result.claims["con.refund"], "due") == [36_500, 0, 0, 0]
    assert result.billed["b"] == [0, 0, 0, 0]
    # a bills 28 days of February and 31 of March; a tenth of each bill is already paid.
    assert result.collected["a"][0] == pytest.approx(59_000 * 0.9)


def test_claims_of_a_cancelled_phase_on_other_triggers_run_on():
    result = run(CANCELLATION, "cancelled")
    assert of(result.claims["on_build"], "due") == [10, 0, 0, 0]  # b builds on 4 March
    assert of(result.claims["on_billing"], "due") == [7, 0, 0, 0]  # a alone
    assert of(result.claims["once_all_bill"], "due") == [11, 0, 0, 0]  # b is ignored
    assert of(result.claims["from_last_build"], "due")[:2] == [28_000, 91_000]  # b is not: from 4 March


def test_deal_wide_billing_never_comes_when_no_phase_is_left():
    result = run(CANCELLATION, "never")
    assert of(result.claims["once_all_bill"], "due") == [0, 0, 0, 0]
    assert of(result.claims["con.refund"], "due") == [73_000, 0, 0, 0]


def test_billing_unit_deal_waits_for_the_day_of_cancellation():
    result = run(CANCELLATION, "together")
    assert result.billing == {"a": date(2027, 3, 3), "b": None}
    assert result.days_late["a"] == 30


def test_a_prepayment_from_the_day_of_cancellation_on_is_never_received():
    in_time, too_late = run(CANCELLATION, "prepaid_in_time"), run(CANCELLATION, "prepaid_too_late")
    assert in_time.prepaid["b"] == pytest.approx([36_500, 0, 0, 0])
    assert of(in_time.claims["con.refund"], "due") == [36_500, 0, 0, 0]
    assert too_late.prepaid["b"] == [0, 0, 0, 0]
    assert of(too_late.claims["con.refund"], "due") == [0, 0, 0, 0]


def test_deal_wide_triggers_and_the_plan_of_a_joint_billing_wait_for_the_latest_phase():
    tables = deal(
        quarters=3,
        phases="""phase,order_date
            a,2026-12-01
            b,2027-03-01""",
        accounts="""account,party,opening_cash
            acc,owner,10""",
        claims="""claim,paid_from,payee,kind,trigger
            rest,acc:90,owner,residual,build""",
        scenarios="""scenario,table,row,column,value
            late,steps,build@a,delay,91""",
    )
    tables["deal"].append({"item": "billing_unit", "value": "deal"})
    base, late = reference.run(tables).values()
    assert set(base.planned_billing.values()) == {date(2027, 4, 1)}  # b's 31 days from 1 March
    assert of(base.claims["rest"], "paid") == [0, 10, 0]  # from the first day of the second quarter
    assert late.billing == {"a": date(2027, 4, 2), "b": date(2027, 4, 2)}  # a's 1 January + 91 days
    assert late.days_late == {"a": 1, "b": 1}
    assert late.stuck_step == {"a": "build", "b": None}  # b itself is on time
    assert of(late.claims["rest"], "paid") == [0, 0, 10]


def test_a_contract_bills_the_larger_of_use_and_take_or_pay_and_grows_every_year():
    tables = deal(
        quarters=12,
        phases="""phase,order_date,contract
            ph,2027-01-01,con""",
        steps="""step,days
            build,0""",
        accounts="""account,party
            acc,owner
            up_front,owner""",
        contracts="""contract,customer,account,basis,price,escalator,term_days,take_or_pay,utilisation
            con,customer,acc,usd_per_year,365000,0.1,1095,0.8,0.5""",
    )
    tables["contracts"][0] |= {"prepay_share": "0.25", "prepay_account": "up_front"}
    result = run(tables)
    years = [365 * 800 * growth for growth in (1, 1.1, 1.21)]
    assert sum(result.billed["ph"]) == pytest.approx(sum(years))  # to 30 December 2029, as 2028 leaps
    assert sum(result.billed["ph"][:4]) == pytest.approx(years[0])
    assert result.prepaid["ph"][0] == pytest.approx(sum(years) / 4)
    assert result.cash_closing["up_front"][-1] == pytest.approx(sum(years) / 4)
    assert result.cash_closing["acc"][-1] == pytest.approx(sum(years) * 3 / 4)


FIXED = deal(
    phases="""phase,order_date,contract
        ph,2027-01-01,con""",
    contracts="""contract,customer,account,basis,price,term_days,prepay_share,end_rule
        con,customer,acc,usd_per_year,365000,100,0.5,fixed""",
    scenarios="""scenario,table,row,column,value
        late,steps,build,delay,60
        too_late,steps,build,delay,120""",
)


def test_a_fixed_end_eats_the_delay():
    # Planned: 1 February to 11 May, 100 days, half of them prepaid: 59 days in the first quarter, 41 in the second.
    base, late, too_late = reference.run(FIXED).values()
    assert base.collected["ph"] == pytest.approx([29_500, 20_500, 0, 0])
    assert of(base.claims["con.refund"], "due") == [0, 0, 0, 0]
    # 60 days late: 2 April to 11 May are 40 days, less than the 50 prepaid. Nothing is collected, 10 days are owed.
    assert late.billed["ph"] == pytest.approx([0, 40_000, 0, 0])
    assert late.collected["ph"] == pytest.approx([0, 0, 0, 0])
    assert of(late.claims["con.refund"], "due") == [0, 10_000, 0, 0]
    assert of(late.claims["con.refund"], "unpaid") == [0, 10_000, 10_000, 10_000]  # it has no place
    # 120 days late: the term is over before it begins, and all is owed back at its end, 12 May.
    assert too_late.billed["ph"] == [0, 0, 0, 0]
    assert of(too_late.claims["con.refund"], "due") == [0, 50_000, 0, 0]


def test_capacity_live_before_the_start():
    tables = deal(
        quarters=6,
        phases="""phase,order_date,contract
            ph,2026-01-01,con""",
        steps="""step,days
            build,0""",
        contracts="""contract,customer,account,basis,price,escalator,term_days,net_days,prepay_share
            con,customer,acc,usd_per_year,365000,0.1,730,60,0.2""",
    )
    result = run(tables)
    # 1000 a day through 2026, 1100 a day through 2027; 20% of the 766 500 came before the start and is credited.
    assert result.prepayment["ph"] == pytest.approx(153_300)
    assert result.prepaid["ph"] == [0] * 6
    assert result.billed["ph"] == pytest.approx([99_000, 100_100, 101_200, 101_200, 0, 0])
    # The first quarter collects 2 November to 30 January: 60 days at 1000 and 30 at 1100, four fifths of each.
    assert result.collected["ph"][0] == pytest.approx((60_000 + 33_000) * 0.8)
    # Early 2028 collects the last 60 days, 2 November to 31 December.
    assert result.collected["ph"][4:] == pytest.approx([66_000 * 0.8, 0])


def test_a_recurring_claim_in_advance_grows_on_its_365_day_anniversary():
    tables = deal(
        quarters=6,
        claims="""claim,paid_from,payee,kind,basis,rate,trigger,net_days,escalator
            rent,acc:10,supplier,recurring,usd_per_year,365000,2027-04-01,-30,0.1""",
    )
    due = [record["due"] for record in run(tables).claims["rent"]]
    # The first quarter owes the days from 31 January to 30 April, of which 30 have begun to accrue.
    assert due[0] == pytest.approx(30_000)
    assert due[1] == pytest.approx(91_000)
    # 2028 leaps, so 365 days are over on 31 March: 31 January to 30 March at 1000, 31 March to 30 April at 1100.
    assert due[4] == pytest.approx(60_000 + 34_100)


def test_a_narrowed_row_wins_over_the_plain_one_wherever_it_stands():
    tables = deal(
        phases="""phase,order_date
            a,2027-01-01
            b,2027-01-01
            c,2027-01-01""",
        steps="""step,days,delay
            build,10,5""",
        scenarios="""scenario,table,row,column,value
            s,steps,build@b,delay,0
            s,steps,build,delay,20
            s,steps,build@c,days,40""",
    )
    result = run(tables, "s")
    assert result.last_finish == {"a": date(2027, 1, 31), "b": date(2027, 1, 11), "c": date(2027, 3, 2)}
    assert set(result.planned_billing.values()) == {date(2027, 1, 11)}  # the base sheets, every delay at zero
    assert result.days_late == {"a": 20, "b": 0, "c": 50}
    assert result.relief["c", "build"] == 20


def test_equally_late_paths_stick_at_the_longest_delay_without_float():
    tables = deal(
        steps="""step,days,delay,after
            p,10,15,
            q,5,20,
            r,0,22,
            end,1,0,p;q;r"""
    )
    result = run(tables)  # p and q both end on day 25, r on day 22 with three days to spare
    assert [result.relief["ph", step] for step in "pqr"] == [0, 0, 0]
    assert [result.float_["ph", step] for step in "pqr"] == [0, 0, 3]
    assert result.days_late["ph"] == 15  # the plan: p ends on day 10
    assert result.stuck_step["ph"] == "q"


def test_relief_stops_where_the_next_path_takes_over():
    tables = deal(
        steps="""step,days,delay,after,not_before
            p,10,30,,
            q,25,0,,2027-01-06
            end,1,0,p;q,"""
    )
    result = run(tables)  # p ends on day 40; without its delay q, which begins on day 5, ends on day 30
    assert result.relief["ph", "p"] == 10
    assert result.float_["ph", "q"] == 10
    assert result.stuck_step["ph"] == "p"


def test_the_stuck_step_has_the_most_relief_not_the_longest_delay():
    tables = deal(
        steps="""step,days,delay,after
            p,10,30,
            q,30,0,
            end,1,15,p;q"""
    )
    result = run(tables)
    assert [result.relief["ph", step] for step in ("p", "q", "end")] == [10, 0, 15]
    assert result.stuck_step["ph"] == "end"


def test_longer_days_are_late_but_nothing_is_stuck():
    tables = deal(
        scenarios="""scenario,table,row,column,value
            s,steps,build,days,61"""
    )
    result = run(tables, "s")
    assert result.days_late["ph"] == 30
    assert result.stuck_step["ph"] is None


def test_scenarios_may_change_the_structure():
    tables = deal(
        steps="""step,days,after
            p,10,
            q,20,p""",
        accounts="""account,party,opening_cash
            one,owner,100
            two,owner,100""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger
            bill,one:10,supplier,once,usd,60,q""",
        scenarios="""scenario,table,row,column,value
            s,steps,q,after,
            s,claims,bill,paid_from,two:10
            s,claims,bill,trigger,2027-05-01""",
    )
    result = run(tables, "s")
    assert result.finish["ph", "q"] == date(2027, 1, 21)
    assert result.days_late["ph"] == -10
    assert (result.cash_closing["one"][1], result.cash_closing["two"][:2]) == (100, [100, 40])


def test_a_once_claim_due_before_the_start_is_an_error():
    tables = deal(
        claims="""claim,paid_from,payee,kind,basis,rate,trigger,net_days
            bill,acc:10,supplier,once,usd,1,order,-1"""
    )
    with pytest.raises(ValueError, match="bill"):
        run(tables)


def test_quantities_of_every_basis():
    tables = deal(
        phases="""phase,order_date,racks,gpus_per_rack,mw
            ph,2027-01-01,2,72,1.5""",
        claims="""claim,paid_from,payee,kind,basis,rate,share,trigger
            usd,acc:10,supplier,once,usd,100,0.5,order
            rack,acc:10,supplier,once,usd_per_rack,100,0.5,order
            gpu,acc:10,supplier,once,usd_per_gpu,100,0.5,order
            mw,acc:10,supplier,once,usd_per_mw,100,0.5,order
            kw_month,acc:10,supplier,recurring,usd_per_kw_month,365,0.5,order
            mw_year,acc:10,supplier,recurring,usd_per_mw_year,365,0.5,order
            gpu_hour,acc:10,supplier,recurring,usd_per_gpu_hour,1,0.5,order
            mwh,acc:10,supplier,recurring,usd_per_mwh,1,0.5,order
            year,acc:10,supplier,recurring,usd_per_year,365,0.5,order""",
    )
    claims = run(tables).claims
    due = {name: claims[name][0]["due"] for name in claims}
    once = {"usd": 50, "rack": 100, "gpu": 7200, "mw": 75}
    a_day = {"kw_month": 9000, "mw_year": 0.75, "gpu_hour": 1728, "mwh": 18, "year": 0.5}
    assert due == pytest.approx({**once, **{name: 90 * amount for name, amount in a_day.items()}})


def test_a_monthly_grid():
    tables = deal(
        quarters=1,
        grid="month",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger,late_rate
            rent,acc:10,supplier,recurring,usd_per_year,365000,order,0.365""",
    )
    result = run(tables)
    assert result.periods == ["2027-01", "2027-02", "2027-03"]
    assert result.first_days == [date(2027, 1, 1), date(2027, 2, 1), date(2027, 3, 1)]
    assert of(result.claims["rent"], "due") == [31_000, 28_000, 31_000]
    # February: 31 000 x 0.365 x 28/365 = 868; March: (31 000 + 28 000 + 868) x 0.001 x 31 = 1855.908.
    assert of(result.claims["rent"], "late") == [0, 868, 1855.908]


def test_mw_by_status():
    tables = deal(
        phases="""phase,order_date,mw,contract
            a,2027-01-01,1,con
            b,2027-04-01,2,con
            c,2027-01-01,4,""",
        steps="""step,days,after,status
            plug,89,,connected
            run,1,plug,active""",
        contracts="""contract,customer,account,basis,price,term_days
            con,customer,acc,usd_per_year,1,183""",
    )
    mw = run(tables).mw
    assert mw["contracted"] == [5, 7, 7, 7]
    assert mw["connected"] == [5, 7, 7, 7]  # a and c on 31 March, b on 29 June
    assert mw["active"] == [0, 7, 7, 7]  # a and c on 1 April, b on 30 June
    assert mw["installed"] == [0, 0, 0, 0]
    # a bills from 1 April for 183 days, to 30 September; b from 30 June to 29 December. c has no contract.
    assert mw["billing"] == [0, 3, 3, 0]


# Facilities -----------------------------------------------------------------------------------------------------------


def test_facilities_of_one_account_draw_in_table_order_what_it_needs():
    tables = deal(
        quarters=1,
        accounts="""account,party,opening_cash
            acc,owner,100""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger
            equip,acc:10,supplier,once,usd,1000,2027-02-15""",
        facilities=[
            facility("one", commitment="300", advance_rate="0.5", margin="0.04", upfront_fee="0.1"),
            facility("two", margin="0.04", upfront_fee="0.1"),
        ],
    )
    result = run(tables)
    # The account lacks 900; `one` lends its 300 and costs 30 of fee and half of 300 x 4% x 90/360 = 1.5 of interest.
    # `two` lends the 1031.5 now claimed less the 400 in hand, and not its own 63.15 and 3.1575.
    assert result.facilities["one"]["draw"] == pytest.approx([300])
    assert result.facilities["two"]["draw"] == pytest.approx([631.5])
    assert result.claims["two.fee"][0]["paid"] == pytest.approx(63.15)
    assert result.claims["equip"][0]["unpaid"] == pytest.approx(63.15 + 3.1575)
    assert result.cash_closing["acc"] == pytest.approx([0])


def test_a_window_is_open_by_the_period_for_draws_and_by_the_day_for_the_fee():
    tables = deal(
        accounts="""account,party,opening_cash
            acc,owner,0
            ops,owner,1000""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger
            equip,acc:10,supplier,once,usd,1000,2027-02-20
            last,acc:10,supplier,once,usd,1000,2027-11-10""",
        facilities=[
            facility(
                "f",
                advance_rate="0.8",
                eligible="equip;last",
                available_from="2027-02-15",
                available_until="2027-11-10",
                commitment_fee="0.036",
                fee_from="ops:1",
            )
        ],
    )
    result = run(tables)
    # The first quarter began before the window; `last` falls due on the day the window closes, too late to count.
    assert result.facilities["f"]["eligible"] == pytest.approx([1000, 1000, 1000, 1000])
    assert result.facilities["f"]["draw"] == pytest.approx([0, 800, 0, 0])
    # 2000 x 3.6% / 360 is 0.2 a day: 45 days, 91 days; then on 1200 undrawn 92 days, and 40 days to 9 November.
    assert of(result.claims["f.fee"], "due") == [9, 18.2, 11.04, 4.8]


def test_a_claim_is_eligible_once_its_phase_meets_the_condition():
    tables = deal(
        phases="""phase,order_date
            a,2027-01-01
            b,2027-01-01""",
        scenarios="""scenario,table,row,column,value
            s,steps,build@b,not_before,2027-05-31""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger,phase
            each,acc:10,supplier,once,usd,100,order,
            all,acc:10,supplier,once,usd,10,order,deal""",
        facilities=[facility("f", advance_rate="0.5", eligible="each;all", condition="build")],
    )
    result = run(tables, "s")  # a builds on 1 February; b from 31 May to 1 July, the first day of the third quarter
    assert result.facilities["f"]["eligible"] == pytest.approx([100, 100, 210, 210])
    assert result.facilities["f"]["draw"] == pytest.approx([50, 0, 55, 0])


def lone_facility(grid="quarter", **cells):
    """One facility on an account without cash, its payments placed in a rich one."""
    ops = {"fee_from": "ops:1", "interest_from": "ops:1", "principal_from": "ops:50"}
    terms = {"commitment": "1000", "margin": "0.04", "first_repayment": "2027-03-31"}
    tables = deal(
        grid=grid,
        accounts="""account,party,opening_cash
            acc,owner,0
            ops,owner,1000000""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger
            equip,acc:10,supplier,once,usd,500,2027-02-15""",
    )
    return {**tables, "facilities": [facility("f", **{**ops, **terms, **cells})]}


def test_instalments_fall_on_clamped_month_ends():
    cells = {"opening_balance": "300", "first_repayment": "2027-01-31", "instalments": "3", "repay_every_months": "1"}
    monthly, quarterly = run(lone_facility("month", **cells)), run(lone_facility(**cells))
    assert of(monthly.claims["f.principal"], "due")[:4] == [100, 100, 100, 0]  # 31 January, 28 February, 31 March
    assert of(quarterly.claims["f.principal"], "due") == [300, 0, 0, 0]


def test_instalments_before_the_start_are_gone():
    # 30 November and 30 December are gone; 30 January and 28 February remain for the 300 outstanding.
    cells = {"opening_balance": "300", "first_repayment": "2026-11-30", "instalments": "4", "repay_every_months": "1"}
    result = run(lone_facility("month", **cells))
    assert [record["due"] for record in result.claims["f.principal"]][:4] == pytest.approx([150, 150, 0, 0])
    # A payment counts at the period's end: January's interest is on all of the 300.
    interest = [record["due"] for record in result.claims["f.interest"]][:3]
    assert interest == pytest.approx([300 * 0.04 * 31 / 360, 150 * 0.04 * 28 / 360, 0])
    # All gone: what was outstanding falls due in the first period.
    result = run(lone_facility(opening_balance="300", first_repayment="2026-06-30"))
    assert of(result.claims["f.principal"], "due") == [300, 0, 0, 0]


def test_what_is_left_after_the_last_instalment_falls_due_in_the_next_period():
    result = run(lone_facility(opening_balance="300", available_until="2027-12-31", commitment_fee="0.036"))
    # The first quarter draws 500 of min(1000, 300 + 500) - 300, and repays the 300 drawn before it.
    assert result.facilities["f"]["draw"] == pytest.approx([500, 0, 0, 0])
    assert of(result.claims["f.principal"], "due") == [300, 500, 0, 0]
    assert result.facilities["f"]["balance_closing"] == pytest.approx([500, 0, 0, 0])
    # What is repaid cannot be drawn again: the fee is on 700, then on 200, 0.0001 a day, the last for 91 of 92 days.
    assert of(result.claims["f.fee"], "due") == [6.3, 1.82, 1.84, 1.82]


def test_overdue_debt_bears_the_default_margin():
    cells = {"commitment": "7200", "opening_balance": "3600", "floor": "0.05", "default_margin": "0.02"}
    tables = lone_facility(**cells, commitment_fee="0.01", available_until="2027-04-01")
    tables["claims"][0]["trigger"] = "2029-01-01"
    tables["accounts"][1]["opening_cash"] = "0"
    result = run(tables)
    # Rate max(0, 5%) + 4% = 9%. First quarter: interest 3600 x 9% x 90/360 = 81, fee 3600 x 1% x 90/360 = 9.
    assert (result.claims["f.interest"][0]["due"], result.claims["f.fee"][0]["due"]) == pytest.approx((81, 9))
    # Second: the 81 and the 9 bear 11%, the overdue 3600 its interest and 2% more; 91 days of 360.
    second = {part: result.claims[f"f.{part}"][1] for part in ("fee", "interest", "principal")}
    assert second["interest"]["due"] == pytest.approx(3600 * 0.09 * 91 / 360)
    assert second["interest"]["late"] == pytest.approx((81 * 0.11 + 3600 * 0.02) * 91 / 360)
    assert second["fee"]["late"] == pytest.approx(9 * 0.11 * 91 / 360)
    assert (second["principal"]["late"], second["principal"]["unpaid"]) == (0, 3600)


def test_a_window_that_ends_with_a_billing_that_never_comes_stays_open():
    tables = lone_facility(first_repayment="billing", opening_balance="100")
    tables |= {
        "phases": table("""phase,order_date,contract
            ph,2027-01-01,con"""),
        "contracts": table("""contract,customer,account,basis,price,term_days,longstop_days
            con,customer,ops,usd_per_year,1,10,0"""),
        "scenarios": table("""scenario,table,row,column,value
            s,steps,build,delay,60
            s,claims,equip,trigger,2027-08-15"""),
    }
    base, late = reference.run(tables).values()
    # Base bills on 1 February: the window closes before the claim falls due, and the 100 are repaid.
    assert base.facilities["f"]["draw"] == [0, 0, 0, 0]
    assert of(base.claims["f.principal"], "due") == [100, 0, 0, 0]
    assert of(late.claims["f.principal"], "due") == [0, 0, 0, 0]
    assert late.facilities["f"]["draw"] == pytest.approx([0, 0, 500, 0])


def test_dscr_takes_off_what_ranks_ahead_but_the_own_fee_and_interest():
    tables = deal(
        quarters=2,
        phases="""phase,order_date,contract
            ph,2027-01-01,con""",
        steps="""step,days
            build,0""",
        contracts="""contract,customer,account,basis,price,term_days
            con,customer,acc,usd_per_year,365000,1000""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger
            opex,acc:10,supplier,recurring,usd_per_year,73000,order
            rest,acc:30,owner,residual,,,order
            junior,acc:50,supplier,recurring,usd_per_year,365000,order
            equip,acc:60,supplier,once,usd,1,order""",
        facilities=[
            facility(
                "f",
                commitment="36000",
                opening_balance="36000",
                margin="0.04",
                first_repayment="2027-03-31",
                fee_from="acc:20",
                interest_from="acc:20",
                principal_from="acc:40",
            )
        ],
    )
    # Collections 90 x 1000, opex 90 x 200; interest 36 000 x 4% x 90/360 = 360, principal 36 000. Then no debt is left.
    assert run(tables).facilities["f"]["dscr"] == [pytest.approx(72_000 / 36_360), None]


# Accounts, supports, residuals ----------------------------------------------------------------------------------------


def test_a_short_rank_is_paid_pro_rata_and_the_rest_is_claimed_at_the_next_place():
    tables = deal(
        quarters=2,
        accounts="""account,party,opening_cash
            one,owner,100
            two,owner,50""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger,late_rate
            x,one:10;two:10,supplier,once,usd,60,order,0
            y,one:10,supplier,once,usd,90,order,0.365
            z,one:20,supplier,once,usd,5,order,0""",
    )
    result = run(tables)
    # 100 for 150 wanted: x gets 40, y 60, z nothing. x takes its other 20 from the second account at once.
    assert result.placed["x", "one"][0] == pytest.approx({"claimed": 60, "cash": 40, "support": 0})
    assert result.placed["x", "two"][0] == pytest.approx({"claimed": 20, "cash": 20, "support": 0})
    assert of(result.claims["y"], "unpaid")[0] == 30
    assert of(result.claims["y"], "late") == [0, 2.73]  # 91 days at 36.5%
    assert result.cash_closing == {"one": pytest.approx([0, 0]), "two": pytest.approx([30, 30])}


@pytest.mark.parametrize(("owed", "paid"), [("100.0000005", 100.0000005), ("100.00001", 100.0)])
def test_a_rank_is_paid_in_full_when_its_cash_comes_within_a_millionth(owed, paid):
    tables = deal(
        accounts="""account,party,opening_cash
            acc,owner,100""",
        claims=f"""claim,paid_from,payee,kind,basis,rate,trigger
            x,acc:10,supplier,once,usd,{owed},order""",
    )
    assert run(tables).claims["x"][0]["paid"] == pytest.approx(paid, abs=1e-10)


def test_what_is_paid_to_a_later_account_is_spent_there_in_the_same_period():
    tables = deal(
        quarters=1,
        accounts="""account,party,opening_cash
            one,owner,0
            two,supplier,5""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger
            lease,one:10,two,once,usd,70,order
            parts,two:10,lender,once,usd,80,order""",
        supports="""support,party,account
            help,owner,one""",
    )
    result = run(tables)
    assert result.support_paid["help"] == pytest.approx([70])
    assert result.claims["parts"][0]["unpaid"] == pytest.approx(5)
    # The lease goes to an account, so to no party; the owner puts in the 70 that the lender is paid with the 5.
    assert [result.parties[party][0]["paid"] for party in ("supplier", "lender")] == pytest.approx([0, 75])
    assert result.parties["owner"][0]["net"] == pytest.approx(-70)


def test_supports_pay_what_they_cover_rank_by_rank_while_they_last():
    tables = deal(
        quarters=3,
        accounts="""account,party
            pre,owner
            acc,owner""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger
            u,acc:10,supplier,once,usd,100,order
            v,acc:20,supplier,once,usd,60,order
            w,acc:20,supplier,once,usd,40,order
            x,acc:30,supplier,once,usd,50,order
            y,pre:10;acc:40,supplier,once,usd,9,order
            z,acc:10,supplier,once,usd,3,2027-08-01""",
        supports="""support,party,account,commitment,available_from,available_until,covers
            some,owner,acc,70,,,v;w;x
            any,owner,acc,,2027-02-01,2027-04-02,""",
    )
    result = run(tables)
    # First quarter: `some` passes over u, and its 70 go to v and w as 60 to 40. `any` is not open on 1 January.
    assert result.support_paid["some"] == pytest.approx([70, 0, 0])
    assert [result.claims[name][0]["paid"] for name in "uvwxy"] == pytest.approx([0, 42, 28, 0, 0])
    # Second: `any` pays all that is first placed here, so not y. Third: it is closed, and z stays unpaid.
    assert result.support_paid["any"] == pytest.approx([0, 100 + 18 + 12 + 50, 0])
    assert [result.claims[name][2]["unpaid"] for name in "uvwxyz"] == pytest.approx([0, 0, 0, 0, 9, 3])


def test_residuals_of_equal_rank_go_in_table_order_and_leave_the_minimum():
    tables = deal(
        quarters=2,
        accounts="""account,party,opening_cash,minimum_cash
            acc,owner,100,30
            two,owner,0,0""",
        claims="""claim,paid_from,payee,kind,trigger
            behind,acc:95,owner,residual,2027-01-01
            waits,acc:80,owner,residual,2027-01-02
            first,acc:90,two,residual,2027-01-01
            second,acc:90,owner,residual,2027-01-01""",
    )
    result = run(tables)  # `waits` begins on the second day of the first quarter, so with the second quarter
    assert of(result.claims["first"], "paid") == [70, 0]
    assert result.claims["first"][0] == {"due": 70, "late": 0, "claimed": 70, "paid": 70, "unpaid": 0}
    assert of(result.claims["second"], "paid") == [0, 0]
    assert of(result.claims["behind"], "paid") == of(result.claims["waits"], "paid") == [0, 0]
    assert result.cash_closing == {"acc": [30, 30], "two": [70, 70]}


@pytest.mark.parametrize(("owed", "paid"), [("0.004", [0, 50]), ("0.006", [0, 0])])
def test_a_residual_to_a_party_waits_for_every_claim_to_half_a_cent(owed, paid):
    tables = deal(
        quarters=2,
        accounts="""account,party,opening_cash
            poor,owner,0
            rich,owner,50""",
        claims=f"""claim,paid_from,payee,kind,basis,rate,trigger
            debt,poor:10,supplier,once,usd,{owed},order
            rest,rich:90,owner,residual,,,2027-01-02""",
    )
    assert of(run(tables).claims["rest"], "paid") == paid


def test_a_lockup_names_its_claims_and_a_residual_to_an_account_has_none():
    tables = deal(
        quarters=2,
        accounts="""account,party,opening_cash
            poor,owner,0
            rich,owner,50
            last,owner,0""",
        claims="""claim,paid_from,payee,kind,basis,rate,trigger,lockup
            debt,poor:10,supplier,once,usd,7,order,
            other,poor:10,supplier,once,usd,0,order,
            up,rich:90,last,residual,,,2027-01-02,
            locked,last:90,owner,residual,,,2027-01-02,debt
            free,last:95,owner,residual,,,2027-01-02,other""",
    )
    claims = run(tables).claims
    assert [claims[name][1]["paid"] for name in ("up", "locked", "free")] == [50, 0, 50]


# Laws on random deals -------------------------------------------------------------------------------------------------


def nearly(left, right):
    return abs(left - right) <= 1e-3


def placed_in(tables, result, account):
    """(rank, claim) of an account's claims, residuals apart, as the scenario has them."""
    columns = {"claims": [("", "paid_from")], "contracts": [(".refund", "refund_from")]}
    columns["facilities"] = [(f".{part}", f"{part}_from") for part in ("fee", "interest", "principal")]
    placed = []
    for name, parts in columns.items():
        for row in tables[name]:
            for suffix, column in parts:
                ranks = dict(place.split(":") for place in row[column].split(";") if place)
                if account in ranks and row.get("kind") != "residual":
                    placed.append((int(ranks[account]), row[reference.KEYS[name]] + suffix))
    return sorted(placed)


def check_claims(result):
    for name, records in result.claims.items():
        before = 0.0
        places = [placed for (claim, _), placed in result.placed.items() if claim == name]
        for period, record in enumerate(records):
            assert -1e-6 <= record["paid"] <= record["claimed"] + 1e-6
            assert nearly(before + record["late"] + record["due"], record["claimed"])
            assert nearly(record["claimed"] - record["paid"], record["unpaid"])
            assert nearly(sum(p[period]["cash"] + p[period]["support"] for p in places), record["paid"])
            before = record["unpaid"]


def check_accounts(tables, result):
    """Each account's cash reconciles, and pays nothing junior while something senior is short."""
    rows = {row["account"]: row for row in tables["accounts"]}
    contracts = {row["contract"]: row for row in tables["contracts"]}
    for account, closing in result.cash_closing.items():
        cash = float(rows[account]["opening_cash"] or 0)
        ranked = placed_in(tables, result, account)
        for period in range(len(result.periods)):
            for phase in tables["phases"]:
                contract = contracts.get(phase["contract"])
                if contract and contract["account"] == account:
                    cash += result.collected[phase["phase"]][period]
                if contract and (contract["prepay_account"] or contract["account"]) == account:
                    cash += result.prepaid[phase["phase"]][period]
            for row in tables["facilities"]:
                if row["account"] == account:
                    cash += result.facilities[row["facility"]]["draw"][period]
            for row in tables["claims"]:
                if row["payee"] == account:
                    cash += result.claims[row["claim"]][period]["paid"]
            cash -= sum(placed[period]["cash"] for (_, place), placed in result.placed.items() if place == account)
            assert nearly(cash, closing[period])
            assert closing[period] >= -1e-3
            shorts = [r for r, c in ranked if (p := result.placed[c, account][period])["claimed"] - p["cash"] > 1e-3]
            paids = [r for r, c in ranked if result.placed[c, account][period]["cash"] > 1e-3]
            assert not shorts or not paids or max(paids) <= min(shorts)


def check_facilities(tables, result):
    for row in tables["facilities"]:
        name = row["facility"]
        facility, commitment = result.facilities[name], float(row["commitment"])
        balance = drawn = float(row["opening_balance"] or 0)
        due = 0.0
        for period, draw in enumerate(facility["draw"]):
            assert draw >= 0
            drawn += draw
            due += result.claims[f"{name}.principal"][period]["due"]
            assert draw == 0 or drawn <= facility["limit"][period] + 1e-3
            assert due <= drawn + 1e-3
            balance += draw - result.claims[f"{name}.principal"][period]["paid"]
            assert nearly(balance, facility["balance_closing"][period])
            assert -1e-3 <= balance <= commitment + 1e-3


def check_deal(tables, result):
    """Sources are uses: all that ever came in was paid to parties or is still there."""
    cash = sum(float(row["opening_cash"] or 0) for row in tables["accounts"])
    for period in range(len(result.periods)):
        for flows in (result.collected, result.prepaid, result.support_paid):
            cash += sum(flow[period] for flow in flows.values())
        cash += sum(facility["draw"][period] for facility in result.facilities.values())
        cash -= sum(records[period]["paid"] for records in result.parties.values())
        assert nearly(cash, sum(closing[period] for closing in result.cash_closing.values()))
    for row in tables["supports"]:
        assert sum(result.support_paid[row["support"]]) <= float(row["commitment"] or "inf") + 1e-3
    for phase, prepayment in result.prepayment.items():
        assert nearly(prepayment, result.credited[phase] + result.owed_back[phase])


def check_schedule(tables, result):
    for row in tables["steps"]:
        for phase in tables["phases"]:
            key = phase["phase"], row["step"]
            assert result.finish[key] >= date.fromisoformat(phase["order_date"])
            assert all(result.finish[key] >= result.finish[key[0], name] for name in row["after"].split(";") if name)
            assert result.float_[key] >= 0
            assert result.float_[key] == 0 or result.relief[key] == 0


@settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(strategies.deals())
def test_the_laws_hold_on_random_deals(tables):
    for scenario, result in reference.run(tables).items():
        changed, _ = reference.scenario_tables(tables, scenario)
        check_schedule(changed, result)
        check_claims(result)
        check_accounts(changed, result)
        check_facilities(changed, result)
        check_deal(changed, result)


@settings(max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(strategies.deals())
def test_tables_survive_their_files(tmp_path_factory, tables):
    assert reference.read_tables(strategies.write_tables(tables, tmp_path_factory.mktemp("deal"))) == tables
