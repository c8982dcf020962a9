"""Compare: the same workloads before and after, with the slowness of the machine taken out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Figures, Results, best_of, load
from report import aligned, seconds

HERE = Path(__file__).resolve().parent
HERE_AND_NOW = "."
NOISE = 0.05
"""Differences below this part of the time are told as none."""


def comparison(old: Results, new: Results) -> str:
    """One line per workload that both have measured; seconds are scaled."""
    before = {figures.name: figures for figures in old.figures}
    rows = [
        row
        for figures in new.figures
        if figures.name in before
        for row in _rows(before[figures.name], figures)
    ]
    names = ("workload", f"{called(old)}", f"{called(new)}", "new / old", "in words")
    return aligned([names, *rows])


def called(results: Results) -> str:
    return results.commit.revision + ("+" if results.commit.is_dirty else "")


def _rows(old: Figures, new: Figures) -> Iterator[tuple[str, ...]]:
    yield (
        old.name,
        seconds(old.scaled),
        seconds(new.scaled),
        *_ratio(old.scaled, new.scaled, "slower", "faster"),
    )
    before, after = old.best.gigabytes, new.best.gigabytes
    if before is not None and after is not None:
        yield (
            "  its memory, GB",
            f"{before:.2f}",
            f"{after:.2f}",
            *_ratio(before, after, "larger", "smaller"),
        )


def _ratio(old: float, new: float, worse: str, better: str) -> tuple[str, str]:
    ratio = new / old
    if abs(ratio - 1) < NOISE:
        return f"{ratio:.2f}", "the same"
    return f"{ratio:.2f}", f"{ratio:.1f}x {worse}" if ratio > 1 else f"{1 / ratio:.1f}x {better}"


def compare_commits(commits: Sequence[str], names: Sequence[str], rounds: int) -> str:
    """Both commits measured in turn, several times, so that a slow minute of the machine meets both.

    The benchmarks are those of this checkout; only the program is taken from the commits.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="bench-")))
        trees = [
            stack.enter_context(checked_out(commit, folder / str(at))) for at, commit in enumerate(commits)
        ]
        measured: list[list[Results]] = [[] for _ in trees]
        for turn in range(rounds):
            for commit, tree, results in zip(commits, trees, measured, strict=True):
                print(f"round {turn + 1} of {rounds}: {commit}", file=sys.stderr)
                results.append(measured_in(tree, names, folder / "figures.json"))
    old, new = map(best_of, measured)
    return comparison(old, new)


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """The commit in a worktree of its own; `.` is this checkout as it stands."""
    if commit == HERE_AND_NOW:
        yield HERE.parent
        return
    git = ["git", "-C", str(HERE), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def measured_in(tree: Path, names: Sequence[str], file: Path) -> Results:
    """What the runner finds out about the program in that worktree."""
    command = [sys.executable, str(HERE / "run.py"), "--quick", "--save", str(file), *names]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return load(file)
