"""The log: a line of JSON for each event. No literal, no parameter and no unknown name of a statement is in it."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from threading import Lock
from typing import Any, TextIO


class Journal:
    """Writes events, from all threads."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stderr
        self._lock = Lock()

    def write(self, event: str, **facts: Any) -> None:
        """One event."""
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        line = json.dumps({"at": at, "event": event, **facts}, ensure_ascii=False)
        with self._lock:
            try:
                print(line, file=self._file, flush=True)
            except (OSError, ValueError):  # a log that is full or closed must not end the server
                return
