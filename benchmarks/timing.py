"""Shared by the benchmarks: fair timing on noisy machines, and the peak memory of a process."""

import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Sample:
    """The seconds that repetitions of one piece of work took."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def minimum(self) -> float:
        return min(self.seconds)


def stopwatch(work: Callable[[], Result], clock: Callable[[], float] = time.perf_counter) -> tuple[float, Result]:
    """Run the work once; return the seconds it took and its result."""
    start = clock()
    result = work()
    return clock() - start, result


def interleaved(
    runs: int, *works: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[Sample]:
    """Time the works in turn, after one warm-up each: a slow minute of the machine hits all alike.

    The order is reversed in every other round, so that nobody always follows the same neighbour.
    """
    for work in works:
        work()
    seconds: list[list[float]] = [[] for _ in works]
    for turn in range(runs):
        order = range(len(works)) if turn % 2 == 0 else reversed(range(len(works)))
        for index in order:
            seconds[index].append(stopwatch(works[index], clock)[0])
    return [Sample(tuple(each)) for each in seconds]


def peak_rss() -> int:
    """The largest resident size of this process so far, in bytes.

    On Linux a child inherits ru_maxrss from its parent, but not VmHWM: prefer the latter.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage if sys.platform == "darwin" else usage * 1024


def in_fresh_process(work: Callable[..., Result], *arguments: object) -> Result:
    """Call a module-level function in a new interpreter that inherits no memory from this one."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()
