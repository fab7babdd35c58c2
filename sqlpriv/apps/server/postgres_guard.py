"""The process that starts PostgreSQL and ends it with the server: `postgres_guard.py PROGRAMS FOLDER SETTING...`.

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
_PR_SET_PDEATHSIG = 1
_MOST_MEMORY = 512 << 20
_STOP_SECONDS = 5.0


def main(programs: str, folder: str, *settings: str) -> int:
    """Set it up, run it, and end with the server."""
    data, account = Path(folder) / "data", _account()
    server_ended = threading.Event()
    threading.Thread(target=_wait_for_server, args=(server_ended,), daemon=True).start()
    try:
        created = subprocess.run(
            [f"{programs}/initdb", "-D", str(data), "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd="/",
            **account,
        )  # fmt: skip
        if created.returncode or server_ended.is_set():
            return 1
        options = [part for setting in settings for part in ("-c", setting)]
        running = subprocess.Popen(
            [f"{programs}/postgres", "-D", str(data), "-k", folder, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
            preexec_fn=_limit_process,  # noqa: PLW1509 - the other thread only reads
            **account,
        )  # fmt: skip
        while running.poll() is None and not server_ended.wait(0.1):
            continue
        return _stop(running)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _account() -> dict[str, Any]:
    """The account for PostgreSQL, as arguments of Popen: it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam(NOBODY)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _wait_for_server(server_ended: threading.Event) -> None:
    while os.read(0, 1):
        continue
    server_ended.set()


def _limit_process() -> None:
    """In the new process: limit its memory, and let it end with this one."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    if sys.platform == "linux":
        # An immediate end in which PostgreSQL gives back its shared memory; nothing in it is worth more.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGQUIT))


def _stop(running: subprocess.Popen[bytes]) -> int:
    if running.poll() is not None:
        return 1
    running.send_signal(signal.SIGQUIT)
    try:
        running.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()
    return 0


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(main(*sys.argv[1:]))
