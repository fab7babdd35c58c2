"""A real browser, where there is one: Chromium of the system, or the one that `make` sets up in .browser/."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.places import ROOT

_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-zygote")


def chromium() -> str:
    """Where it is, or a skip with the reason."""
    own = ROOT / ".browser" / "chromium"
    found = os.environ.get("SQLPRIV_CHROMIUM") or (str(own) if own.exists() else shutil.which("chromium"))
    if not found:
        pytest.skip("there is no Chromium: `make test-slow` sets one up where there is npm")
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium(), args=[*_ARGUMENTS])
        yield opened
        opened.close()
