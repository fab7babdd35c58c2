"""Those who have not logged in yet: they are few, and whoever comes finds room, so that nobody can keep others out."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from threading import Lock

from sqlpriv.doors.server.channel import Channel

_MOST_REMEMBERED = 1000
_REMEMBERED_SECONDS = 60.0


class Doorstep:
    """Connections before their login, by their number; asked from all threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._waiting: dict[int, tuple[Channel, str]] = {}  # the oldest first
        self._failed: OrderedDict[str, float] = OrderedDict()

    def enter(self, number: int, channel: Channel, host: str) -> None:
        """Let a connection wait. Where there are too many, one of the host that has most must go: its oldest."""
        with self._lock:
            if len(self._waiting) >= self._most:
                self._let_go()
            self._waiting[number] = (channel, host)

    def leave(self, number: int) -> None:
        """It has logged in, or is gone."""
        with self._lock:
            self._waiting.pop(number, None)

    def remember(self, host: str) -> None:
        """From this host a wrong password came."""
        with self._lock:
            self._failed[host] = time.monotonic()
            self._failed.move_to_end(host)
            if len(self._failed) > _MOST_REMEMBERED:
                self._failed.popitem(last=False)

    def is_suspect(self, host: str) -> bool:
        """Whether one came a short while ago: the next guess has to wait, before it is judged."""
        with self._lock:
            return time.monotonic() - self._failed.get(host, -_REMEMBERED_SECONDS) < _REMEMBERED_SECONDS

    def _let_go(self) -> None:
        ((most, _),) = Counter(host for _, host in self._waiting.values()).most_common(1)
        number = next(number for number, (_, host) in self._waiting.items() if host == most)
        self._waiting.pop(number)[0].hang_up()
