"""A Monte Carlo on a dask cluster: the bits of one machine, whatever the slices, and when a worker is lost."""

import os
import signal

import numpy as np
import pytest

from deal_files import copy
from stuckstep.deal import DealError, read
from stuckstep.studies.axes import axis
from stuckstep.studies.cluster import count_on, slices
from stuckstep.studies.counting import Request, make_ready
from stuckstep.studies.distributions import Uncertainty
from stuckstep.studies.montecarlo import monte_carlo, one_draw, summarised
from stuckstep.studies.sampling import design

distributed = pytest.importorskip("distributed", reason="dask is an extra")
pytest.importorskip("scipy", reason="scipy is an extra")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("default"),
]  # what dask warns about is not for these tests


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


@pytest.fixture(scope="module")
def request_of(tmp_path_factory):
    deal = read(copy(tmp_path_factory.mktemp("deal") / "superpod"))
    late = Uncertainty(
        "power", axis(deal, "steps.power.delay", "0"), "lognormal", low=10, high=180, cap=900, chance=0.6
    )
    price = Uncertainty("price", axis(deal, "contracts.anchor.price", "1", by="factor"), "uniform", low=0.9, high=1.1)
    return Request(deal, (late, price), design(6000, replicates=4))


def plain(request_of, **options):
    one = request_of
    return monte_carlo(one.deal, one.uncertainties, one.plan, engine="arrays", **options)


def test_the_result_is_that_of_one_machine(cluster, request_of):
    done = []
    with distributed.Client(cluster) as client:
        result = monte_carlo(
            request_of.deal, request_of.uncertainties, request_of.plan, scheduler=client, progress=done.append
        )
        ready = make_ready(request_of)
        small = summarised(ready, count_on(client, request_of, ready, size=700))
    assert result.identical(plain(request_of))
    assert small.identical(result)
    assert done[-1] == 6000
    by_address = monte_carlo(
        request_of.deal, request_of.uncertainties, request_of.plan, scheduler=cluster.scheduler_address
    )
    assert by_address.identical(result)


def test_a_lost_worker_changes_nothing(cluster, request_of):
    """One worker process is killed after the first slice is back; its slices are run again by others."""
    killed = []
    with distributed.Client(cluster) as client:
        pids = client.run(os.getpid)

        def kill_one(done):
            if not killed:
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)

        ready = make_ready(request_of)
        counted = count_on(client, request_of, ready, size=100, progress=kill_one)
        assert killed[0] not in client.run(os.getpid).values()
    assert summarised(ready, counted).identical(plain(request_of))


def test_slices_cover_every_draw_once(request_of):
    parts = slices(request_of, 700)
    drawn = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    assert drawn.tolist() == list(range(6000))
    assert all(part.start // 1500 == (part.stop - 1) // 1500 for part in parts)


def test_every_draw_is_kept_where_asked(cluster, request_of, tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is an extra")
    names, line = ["npv:neocloud", "days_late"], "parties.landlord.unpaid"
    options = {"measures": names, "keep": [line, "phases.su1.billing"], "with_series": False}
    plain(request_of, store=tmp_path / "here", threads=2, **options)
    with distributed.Client(cluster) as client:
        plain(request_of, store=tmp_path / "there", scheduler=client, **options)
    here, there = zarr.open_group(tmp_path / "here", mode="r"), zarr.open_group(tmp_path / "there", mode="r")
    assert here["npv.neocloud"].shape == (4, 1500)
    for name in ("npv.neocloud", "days_late", line, "phases.su1.billing"):
        np.testing.assert_array_equal(here[name][:], there[name][:])
    from stuckstep.results import run

    alone = run(one_draw(request_of.deal, request_of.uncertainties, request_of.plan, 1501), ["draw 1501"])
    assert here["npv.neocloud"][1, 1] == alone.npv.sel(party="neocloud").item()
    np.testing.assert_array_equal(here[line][1, 1], alone.unpaid.sel(party="landlord").values[:, 0])
    with pytest.raises(DealError, match="something is there already"):
        plain(request_of, store=tmp_path / "here", **options)
    with pytest.raises(DealError, match="no line 'nothing'"):
        plain(request_of, store=tmp_path / "new", keep=["nothing"])


def test_a_cluster_that_does_not_answer_is_told(request_of):
    with pytest.raises(DealError, match=r"no cluster answers at tcp://127\.0\.0\.1:1"):
        plain(request_of, scheduler="tcp://127.0.0.1:1")
