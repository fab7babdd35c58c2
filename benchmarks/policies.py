"""Policies of the benchmarks, read from text."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.methods import METHODS
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.policy.file import parse_policy


def generalizing(text: str, folder: Path) -> GeneralizePolicy:
    """A policy for generalization; `folder` is where its file names start."""
    policy = parse_policy(text, folder, METHODS)
    assert isinstance(policy, GeneralizePolicy)
    return policy
