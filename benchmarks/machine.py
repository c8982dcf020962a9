"""The machine and the program that figures belong to, and how slow the machine is just now."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

import msgspec
import numpy as np

import hekla

REFERENCE = 0.1
"""Seconds that `calibrate` takes on the quiet machine that limits are written for."""


class Machine(msgspec.Struct, frozen=True):
    """Whatever makes the same program quicker or slower."""

    cpus: int
    model: str
    system: str
    python: str
    numpy: str


class Commit(msgspec.Struct, frozen=True):
    """The measured program; it is dirty where its files differ from the commit."""

    revision: str
    is_dirty: bool


def calibrate() -> float:
    """Seconds for a fixed amount of interpreter and NumPy work: a slow machine, or a slow program?"""
    start = time.perf_counter()
    total = 0
    for number in range(900_000):
        total += number & 7
    rows = np.arange(20_000, dtype=np.float64).reshape(5_000, 4)
    for shift in range(600):
        (rows.sum(axis=1) + shift).argmax()
    return time.perf_counter() - start


def slowness(calibration: float) -> float:
    """How many times as long as on the reference machine everything takes."""
    return calibration / REFERENCE


def this_machine() -> Machine:
    return Machine(
        cpus=os.cpu_count() or 1,
        model=cpu_model(),
        system=platform.platform(terse=True),
        python=platform.python_version(),
        numpy=np.__version__,
    )


def cpu_model() -> str:
    """The processor's name, as far as the system tells."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text("utf-8").splitlines() if told.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def this_commit() -> Commit:
    """Where the imported package comes from, which need not be the checkout of the benchmarks."""
    folder = Path(hekla.__file__).parent
    return Commit(
        revision=_git(folder, "rev-parse", "--short=12", "HEAD") or "unknown",
        is_dirty=bool(_git(folder, "status", "--porcelain", "--", ".")),
    )


def _git(folder: Path, *arguments: str) -> str:
    """What git says; nothing where there is no git or no repository."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
