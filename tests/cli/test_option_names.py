"""One name, one meaning: `--jobs` is a number of jobs, `--processes` how many work at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.calling import called as hekla
from hekla.cli.main import cli

WORKLOAD = (
    "nodes: 1 x cpu=4\njobs:\n- {name: j1, cpu: 1, duration: 10s}\n- {name: j2, cpu: 1, duration: 5s}\n"
)
PRESETS = ("--preset", "default", "--preset", "helm")


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    file = tmp_path / "work.yaml"
    file.write_text(WORKLOAD)
    return file


def commands(group: click.Group = cli, name: str = "hekla") -> Iterator[tuple[str, click.Command]]:
    """Every command with its whole name."""
    for word in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), word)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def options_called(option: str) -> dict[str, str | None]:
    """By command, what the help says of an option of this name."""
    return {
        name: parameter.help
        for name, command in commands()
        for parameter in command.params
        if isinstance(parameter, click.Option) and option in parameter.opts
    }


def test_jobs_is_a_number_of_jobs_and_processes_are_processes() -> None:
    assert set(options_called("--jobs").values()) == {"How many jobs (1000)."}
    assert set(options_called("--processes").values()) == {"How many at a time; by default one per core."}


def test_simulate_still_lists_jobs_under_the_old_name_and_says_the_new_one(workload: Path) -> None:
    old, new = hekla("simulate", workload, "--jobs"), hekla("simulate", workload, "--list-jobs")
    assert "default/j2" in new.stdout
    assert old.stdout.partition("\n\n")[2] == new.stdout.partition("\n\n")[2]
    assert old.stderr == "warning: --jobs is now --list-jobs\n"
    assert new.stderr == ""


@pytest.mark.parametrize("words", [("--jobs", "1"), ("--jobs=1",)], ids=" ".join)
def test_compare_still_takes_processes_under_the_old_name(workload: Path, words: tuple[str, ...]) -> None:
    told = hekla("compare", *PRESETS, workload, *words)
    assert told.returncode == 0
    assert "warning: --jobs is now --processes\n" in told.stderr


def test_a_wrong_value_is_told_under_the_new_name(workload: Path) -> None:
    told = hekla("compare", *PRESETS, workload, "--jobs", "0")
    assert told.returncode == 2
    assert "Invalid value for '--processes'" in told.stderr


def test_what_stands_behind_two_hyphens_is_no_option(tmp_path: Path) -> None:
    told = hekla("simulate", "--", "--jobs", folder=tmp_path)
    assert told.returncode == 1
    assert "warning" not in told.stderr
