"""The process that serves, and the one above it that starts it again.

DuckDB does not count the texts that a query makes as memory, and does not heed an interrupt inside a function. A
question that takes too much of either ends the process that serves, with a word to every client, and never the service.
The socket belongs to the process above, and clients that connect meanwhile wait a moment.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from sqlpriv.core.errors import InputError, SqlprivError

STARTED_AGAIN = 75
"""The exit code of a process that is to be started again."""
_OVERHEAD = 1 << 30
_SHORTEST = 5.0
"""A process that dies sooner by a signal would only die again."""
_PR_SET_PDEATHSIG = 1
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.IGNORECASE)


def bytes_of(memory: str) -> int:
    """An amount of memory."""
    found = _MEMORY.fullmatch(memory)
    if found is None:
        raise InputError(f"{memory!r} is no amount of memory; write it like 2GB")
    unit = found[2].upper()
    return int(float(found[1]) * (1024 if "I" in unit else 1000) ** ("KMGT".index(unit[0]) + 1))


@dataclass(frozen=True)
class Overseer:
    """What the process that serves knows of the one above it, and what it may use."""

    parent: int
    most_memory: int

    def is_alone(self) -> bool:
        """Whether the process above is gone."""
        return os.getppid() != self.parent

    def has_too_much(self) -> bool:
        """Whether this process holds more memory than it may."""
        try:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        except (OSError, ValueError, IndexError):  # only Linux has this file
            return False
        return pages * os.sysconf("SC_PAGE_SIZE") > self.most_memory


def supervise(work: Callable[[Overseer | None], None], memory: int) -> None:
    """Do `work` in a process below this one, and again when that has to end. `memory` is what DuckDB may use.

    A process that has threads cannot be doubled: there the work is done in it.
    """
    if threading.active_count() > 1:
        work(None)
        return
    child, stopping = 0, False

    def forward(number: int, _: object) -> None:
        nonlocal stopping
        stopping = True
        if child:
            os.kill(child, number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        while True:
            sys.stdout.flush()
            began = time.monotonic()
            reader, writer = os.pipe()
            overseer = Overseer(os.getpid(), memory + _OVERHEAD)
            child = os.fork()
            if not child:
                os.close(reader)
                _end_with(work, overseer, writer)
            os.close(writer)
            with open(reader, "rb") as file:
                refusal = file.read()  # up to its end
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            child = 0
            if refusal:
                raise InputError(refusal.decode())
            was_killed = code < 0 and time.monotonic() - began > _SHORTEST
            if stopping or not (code == STARTED_AGAIN or was_killed):
                break
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if code:
        sys.exit(code if code > 0 else 1)


def _end_with(work: Callable[[Overseer | None], None], overseer: Overseer, writer: int) -> NoReturn:
    """In the process below: do the work, and end with it, whatever happens."""
    code = 1
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        work(overseer)
        code = 0
    except SqlprivError as error:
        os.write(writer, str(error).encode())
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)
