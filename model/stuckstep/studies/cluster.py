"""A Monte Carlo on a dask cluster: the draws are made, run and counted by the workers, and the counts merged here.

Counts are whole numbers, so the result is that of one machine to the last bit, whatever the workers, the slices and the
order in which they come back, and also where a worker was lost and its slices were run again.
"""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import pairwise
from typing import Any

from stuckstep.deal import DealError, Fault

from .counting import Ready, Request, Result, count, make_ready
from .extras import extra
from .store import BLOCK, Store

SLICE = 4 * BLOCK  # draws of one task
RETRIES = 3  # how often a task that failed is tried again; one whose worker is lost is run again anyway


def count_on(
    scheduler: Any,
    request: Request,
    ready: Ready,
    *,
    engine: str = "auto",
    width: int | None = None,
    store: Store | None = None,
    progress: Callable[[int], None] | None = None,
    size: int = SLICE,
) -> Result:
    """What is counted in all draws, in slices of `size` on the cluster at an address (or of a client)."""
    keep = () if store is None else store.lines
    with _client(scheduler) as client:
        shared = client.scatter(pickle.dumps((request, engine, width, keep)), broadcast=True, hash=False)
        parts = slices(request, size)
        tasks = [client.submit(_count, shared, part, store, retries=RETRIES, pure=False) for part in parts]
        sizes = {task.key: part.stop - part.start for task, part in zip(tasks, parts, strict=True)}
        result, done = ready.nothing, 0
        waiting = extra("distributed").as_completed(tasks)
        tasks.clear()
        for task in waiting:
            result.merge(task.result())
            done += sizes[task.key]
            if progress is not None:
                progress(done)
            task.release()
    return result


def slices(request: Request, size: int) -> list[slice]:
    """The draws in slices that begin at whole multiples of `size` within each replicate."""
    plan = request.plan
    return [
        slice(first + start, first + min(start + size, plan.size))
        for first in range(0, plan.draws, plan.size)
        for start in range(0, plan.size, size)
    ]


@lru_cache(maxsize=2)
def _ready(message: bytes) -> Ready:
    """The request of a message with its lines translated: once for all slices a worker gets."""
    _keep_freed_memory()
    request, engine, width, keep = pickle.loads(message)
    return make_ready(request, engine=engine, width=width, keep=keep)


def _keep_freed_memory() -> None:
    """Lets the process use freed memory again instead of giving it back after every chunk.

    Dask starts its workers so that they give it back at once (MALLOC_TRIM_THRESHOLD_), and touching new memory makes a
    chunk a quarter slower. Where the C library has no mallopt nothing changes.
    """
    trim_threshold, mmap_threshold = -1, -3  # names in malloc.h
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(mmap_threshold, 1 << 26)
        library.mallopt(trim_threshold, 1 << 28)


def _count(message: bytes, part: slice, store: Store | None) -> Result:
    """What a worker does: draws, runs and counts one slice."""
    ready = _ready(message)
    length = part.stop - part.start
    pieces = -(-length // ready.batch.width)
    edges = [part.start + length * piece // pieces for piece in range(pieces + 1)]
    return count(ready, [slice(*both) for both in pairwise(edges)], store=store)


@contextmanager
def _client(scheduler: Any) -> Iterator[Any]:
    """A client of the cluster, closed again where it was opened here; DealError where there is no cluster."""
    distributed = extra("distributed")
    if isinstance(scheduler, distributed.Client):
        yield scheduler
        return
    try:
        client = distributed.Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        allowed = "the address of a running scheduler such as tcp://host:8786 is allowed"
        raise DealError(
            [Fault("scheduler", None, None, f"no cluster answers at {scheduler} ({error})", allowed)]
        ) from None
    try:
        yield client
    finally:
        client.close()
