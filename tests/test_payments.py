"""When a party is first, half and last paid, and how much later than in base."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stuckstep.results.payments import first_paid, half_paid, is_due, last_paid, never_half_paid, quarters_late

ABSENT = np.nan


@pytest.mark.parametrize(
    ("paid", "due", "first", "half", "last"),
    [
        ([0, 100, 0, 100, 0], [200, 0, 0, 0, 0], 1, 1, 3),  # exactly half counts
        ([0, 99, 1, 100, 0], [200, 0, 0, 0, 0], 1, 2, 3),
        ([0, 99.996, 0.004, 100, 0], [200, 0, 0, 0, 0], 1, 1, 3),  # short by less than half a cent
        ([0, 99.99, 0.01, 100, 0], [200, 0, 0, 0, 0], 1, 2, 3),  # short by a cent
        ([30, 30, 30, 0, 0], [50, 50, 50, 50, 0], 0, ABSENT, 2),  # never half: 90 of 200
        ([50, 0, 0, 50, 0], [50, 0, 0, 0, 50], 0, 0, 3),  # half of all that ever falls due, not of what is due so far
        ([0, 0, 0, 0, 0], [10, 0, 0, 0, 0], ABSENT, ABSENT, ABSENT),
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0], ABSENT, ABSENT, ABSENT),
        ([0, 1e-7, 0, 7, 1e-7], [7, 0, 0, 0, 0], 3, 3, 3),  # dust dates no payment
        ([0, 0, 0.01, 0, 0], [0.01, 0, 0, 0, 0], 2, 2, 2),
        ([1e-7, 0, 0, 0, 0], [1e-7, 0, 0, 0, 0], ABSENT, ABSENT, ABSENT),
    ],
)
def test_by_hand(paid, due, first, half, last):
    np.testing.assert_array_equal([first_paid(paid), half_paid(paid, due), last_paid(paid)], [first, half, last])


def test_float_dust_does_not_move_the_half():
    paid = np.full((10, 1), 0.1)  # 0.1 five times is 0.5 but for the last digit
    for scale in (1.0, 1e6, 1e11):
        assert half_paid(paid * scale, paid * scale).tolist() == [4.0]
    thirds = np.array([1e11 / 3, 1e11 / 6, 0.0, 1e11 / 2])
    assert half_paid(thirds, [1e11, 0, 0, 0]) == 1.0


def test_nothing_due_is_told_from_never_paid():
    due, paid = np.array([[100.0, 0.0, 100.0], [0.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 60.0], [40.0, 0.0, 0.0]])
    np.testing.assert_array_equal(half_paid(paid, due), [ABSENT, ABSENT, 0.0])
    np.testing.assert_array_equal(is_due(due), [True, False, True])
    np.testing.assert_array_equal(never_half_paid(paid, due), [True, False, False])


def test_quarters_late_is_absent_where_either_is():
    half = np.array([[2.0, 5.0, ABSENT], [ABSENT, 1.0, ABSENT], [4.0, 3.0, 4.0]])  # party, scenario; base first
    expected = [[0.0, 3.0, ABSENT], [ABSENT, ABSENT, ABSENT], [0.0, -1.0, 0.0]]
    np.testing.assert_array_equal(quarters_late(half, half[:, :1]), expected)


def test_other_axes_are_kept():
    paid = np.zeros((4, 2, 3))
    paid[2] = 5.0
    for found in (first_paid(paid), last_paid(paid), half_paid(paid, paid)):
        np.testing.assert_array_equal(found, np.full((2, 3), 2.0))


def test_no_periods():
    empty = np.zeros((0, 2))
    for found in (first_paid(empty), last_paid(empty), half_paid(empty, empty)):
        np.testing.assert_array_equal(found, [ABSENT, ABSENT])


cents = st.lists(st.integers(0, 10**12), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(cents, st.integers(0, 8))
def test_agrees_with_counting_cents(due, wait):
    """Paid in full, `wait` periods late: whole cents, so integers decide without any tolerance."""
    paid = [0] * wait + due
    due = due + [0] * wait
    running = np.cumsum(paid)
    reached = [period for period, so_far in enumerate(running) if sum(due) and 2 * so_far >= sum(due) - 1]
    expected = reached[0] if reached else np.nan
    dollars, owed = np.array(paid) / 100, np.array(due) / 100
    if all(2 * so_far != sum(due) - 1 for so_far in running):  # half a cent short exactly: rounding decides
        np.testing.assert_array_equal(half_paid(dollars, owed), expected)
    some = np.flatnonzero(paid)
    np.testing.assert_array_equal(first_paid(dollars), some[0] if len(some) else np.nan)
    np.testing.assert_array_equal(last_paid(dollars), some[-1] if len(some) else np.nan)
    assert not never_half_paid(dollars, owed)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=1, max_size=8))
def test_half_is_not_before_first(rows):
    due, paid = np.array(rows).T
    half = half_paid(paid, due)
    if not np.isnan(half):
        assert paid[: int(half) + 1].sum() >= due.sum() / 2 - 0.006
        assert int(half) == 0 or paid[: int(half)].sum() < due.sum() / 2 + 0.006
    else:
        assert not is_due(due) or paid.sum() < max(due.sum() / 2, 0.011)
