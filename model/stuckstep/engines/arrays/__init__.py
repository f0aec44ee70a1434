"""Reads the lines as arrays: all scenarios at once.

`operations` turns the lines into one list of operations, `steady` works those that no scenario changes, `registers`
gives the rest a place; `vectors` runs them with numpy, and `lanes` (an extra) with numba. They agree bit for bit.
"""

from .operations import Program, translate
from .vectors import CHUNK, Array, Clock, Job, Worker, evaluate, prepare, worker

__all__ = ["CHUNK", "Array", "Clock", "Job", "Program", "Worker", "evaluate", "prepare", "translate", "worker"]
