"""A process that publishes and dies: python dying.py STEP POLICY [apart] [OUTPUT], with the file `key` if there is one.

The key is beside the policy, and so is the output. With `apart` the target is on another file system.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from importlib import import_module
from pathlib import Path


def main(step: str, policy: str, *more: str) -> None:
    path = import_module("sqlpriv.publishing.path")
    place = import_module("sqlpriv.release.place")

    def reached(name: str) -> None:
        if name == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def replace_on_one_system(source: Path, target: Path) -> None:
        if "-unfinished" in str(source):
            raise OSError(errno.EXDEV, "another file system")
        rename(source, target)

    rename = os.replace
    path._reached = reached
    if "apart" in more:
        place.os.replace = replace_on_one_system
    print("ready", flush=True)
    key = Path(policy).with_name("key")
    output = next((Path(policy).with_name(name) for name in more if name.endswith(".duckdb")), None)
    path.publish(policy, output, key_file=key if key.exists() else None, force=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
