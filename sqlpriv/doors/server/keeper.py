"""The process between the server and its shadow PostgreSQL: `python keeper.py PROGRAMS FOLDER SETTING...`.

Its standard input is a pipe that the server holds open. When the server ends, however it ends, the pipe does too: then
PostgreSQL is stopped and its folder removed. When this process is killed itself, Linux stops PostgreSQL. It imports
nothing of sqlpriv, so that it starts at once.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

NOBODY = "nobody"
_ON_DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG
_MOST_MEMORY = 512 << 20
_PATIENCE = 5.0


def main(programs: str, folder: str, *settings: str) -> int:
    """Set it up, run it, and end with the server."""
    data, whom = Path(folder) / "data", _as_whom()
    gone = threading.Event()
    threading.Thread(target=_watch, args=(gone,), daemon=True).start()
    try:
        made = subprocess.run(
            [f"{programs}/initdb", "-D", str(data), "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd="/",
            **whom,
        )  # fmt: skip
        if made.returncode or gone.is_set():
            return 1
        listed = [part for setting in settings for part in ("-c", setting)]
        running = subprocess.Popen(
            [f"{programs}/postgres", "-D", str(data), "-k", folder, *listed],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
            preexec_fn=_before,  # noqa: PLW1509 - the other thread only reads
            **whom,
        )  # fmt: skip
        while running.poll() is None and not gone.wait(0.1):
            continue
        return _stopped(running)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_whom() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam(NOBODY)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _watch(gone: threading.Event) -> None:
    while os.read(0, 1):
        continue
    gone.set()


def _before() -> None:
    """In the new process: what it may use, and that it ends with this one."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    if sys.platform == "linux":
        # An immediate end in which PostgreSQL gives back its shared memory; nothing in it is worth more.
        ctypes.CDLL(None).prctl(_ON_DEATH_OF_PARENT, int(signal.SIGQUIT))


def _stopped(running: subprocess.Popen[bytes]) -> int:
    if running.poll() is not None:
        return 1
    running.send_signal(signal.SIGQUIT)
    try:
        running.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()
    return 0


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(main(*sys.argv[1:]))
