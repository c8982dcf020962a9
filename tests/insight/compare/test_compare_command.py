"""`hekla compare` as users and scripts meet it."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_compare import CHANCY, FRAGMENTS, PACKING, SPREADING

from cli.calling import Told, called
from hekla.cli.compare import WorkloadFile

AS_IT_IS: dict[str, Any] = {
    **dict.fromkeys(("format", "limit", "sample_seed", "default_duration", "job_table")),
    "columns": (),
    "time_zone": "UTC",
    "queue_from": "Partition",
    **dict.fromkeys(("lenient", "follow", "any_gpu", "gpu_shares"), False),
    "sample": 1.0,
    "speedup": 1.0,
    "pod_cpus": 1,
    "statuses": (),
}
COUNTING = """
import os
from pathlib import Path
from hekla import Plugin

class Counting(Plugin):
    name = "counting"

    def on_open(self) -> None:
        with Path("cycles").open("ab") as file:
            file.write(b".")

class Dying(Plugin):
    name = "dying"

    def on_open(self) -> None:
        os._exit(9)

class Failing(Plugin):
    name = "failing"

    def on_open(self) -> None:
        raise RuntimeError("no more")
"""
COMMAND = [sys.executable, "-c", "from hekla.cli.main import main; main()", "compare"]


def hekla(folder: Path, *arguments: str, stdin: str = "") -> Told:
    return called("compare", *arguments, stdin=stdin, folder=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "spread.conf": SPREADING,
        "pack.conf": PACKING,
        "fragments.yaml": FRAGMENTS,
        "chancy.yaml": CHANCY,
        "own.py": COUNTING,
        "counting.conf": PACKING.replace("{name: gang}", "{name: gang}, {name: counting}"),
        "dying.conf": PACKING.replace("{name: gang}", "{name: gang}, {name: dying}"),
        "failing.conf": PACKING.replace("{name: gang}", "{name: gang}, {name: failing}"),
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


BOTH = ("--conf", "spread.conf", "--conf", "pack.conf")
BAD_SPANS = ("--jitter inf", "--jitter nan", "--resample inf", "--resample 0", "--resample -1")


def test_the_verdict_comes_first_and_all_fits_eighty_columns(folder: Path) -> None:
    told = hekla(folder, *BOTH, "fragments.yaml", "--processes", "1")
    assert told.returncode == 0
    assert told.stderr == ""
    lines = told.stdout.splitlines()
    assert lines[0] == "✓ pack.conf is better than spread.conf"
    assert any(line.startswith("one run each; 95 % intervals from leaving out each of 8") for line in lines)
    assert any(line.startswith("WAIT, MEAN") for line in lines)
    assert max(map(len, lines)) <= 80
    assert "-o wide" not in told.stdout  # which is for a reader at a terminal


def test_wide_output_has_every_figure(folder: Path) -> None:
    told = hekla(folder, *BOTH, "fragments.yaml", "--processes", "1", "-o", "wide")
    lines = told.stdout.splitlines()
    assert lines[0] == "✓ pack.conf is better than spread.conf"
    assert lines[2].startswith("  better      ")
    assert any(line.startswith("wait, p99") for line in lines)
    assert any(line.startswith("COMPLETION, MEAN") for line in lines)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("settings", "is_coloured"),
    [({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False), ({}, False)],
    ids=["a terminal", "a terminal and NO_COLOR", "a pipe"],
)
def test_colour_is_for_terminals_and_the_text_says_it_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], is_coloured: bool
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    plain = hekla(folder, *BOTH, "fragments.yaml", "--processes", "1").stdout
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    shown = hekla(folder, *BOTH, "fragments.yaml", "--processes", "1").stdout
    assert ("\x1b[32m✓ pack.conf is better" in shown) is is_coloured
    assert ("\x1b[" in shown) is is_coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", shown).startswith(plain)


def test_files_and_data_say_the_same_as_the_table(folder: Path) -> None:
    told = hekla(
        folder, *BOTH, "fragments.yaml", "--processes", "1", "-o", "json",
        "--save", "runs.csv", "--save", "all.json", "--report", "side-by-side.html",
    )  # fmt: skip
    assert told.returncode == 0
    data, saved = json.loads(told.stdout), json.loads((folder / "all.json").read_text())
    assert {**data, "runs": saved["runs"]} == saved
    assert data["base"] == "spread.conf"
    (pack,) = data["comparisons"]
    assert pack["verdict"]["headline"] == "pack.conf is better than spread.conf"
    assert pack["jobs"]["both"] == 40
    with (folder / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    large = [row for row in rows if row["queue"] == "large" and not row["size"]]
    means = {row["configuration"]: float(row["wait_mean"]) for row in large}
    (wait,) = (
        each for each in pack["differences"]
        if each["measure"] == "wait.mean" and each.get("queue") == "large" and "size" not in each
    )  # fmt: skip
    assert (means["spread.conf"], means["pack.conf"]) == (wait["base"], wait["candidate"])
    page = (folder / "side-by-side.html").read_text()
    assert "pack.conf is better than spread.conf" in page
    assert "All differences from spread.conf" in page
    assert "↓ 100% <b>better</b>" in page


@pytest.mark.parametrize(
    "options",
    [{}, {"sample": 0.5}, {"sample": 0.5, "sample_seed": 1}],
    ids=["all", "a sample", "another sample"],
)
def test_every_seed_makes_up_other_work(folder: Path, options: dict[str, Any]) -> None:
    made = folder / "made.yaml"
    made.write_text("generate: {jobs: 40, rate: 60}")
    file = WorkloadFile.of(made, {**AS_IT_IS, **options, "seed": 3}, ())
    one, other = ([(job.key, job.run_seconds) for job in file(seed).jobs()] for seed in (3, 4))
    assert one != other


def test_a_workload_from_standard_input_is_read_by_every_process(folder: Path) -> None:
    told = hekla(folder, *BOTH, "-", "--seeds", "2", "--processes", "2", stdin=CHANCY)
    assert told.returncode == 0, told.stderr
    assert "\n95 % intervals, paired over 2 seeds: each brings other jobs" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--conf", "pack.conf", "fragments.yaml"], 2, "give two configurations or more"),
        ([*BOTH, "fragments.yaml", "--resample", "1h", "--jitter", "1m"], 2, "not both"),
        ([*BOTH, "nowhere.yaml"], 1, "error: nowhere.yaml: no such file"),
        (
            ["--conf", "pack.conf", "--conf", "nowhere.conf", "fragments.yaml"],
            1,
            'cannot read "nowhere.conf"',
        ),
        (
            [*BOTH, "nowhere.yaml", "--save", "runs.txt"],
            1,
            "ends in .json, .csv or .parquet",
        ),
        *(([*BOTH, "fragments.yaml", *span.split()], 2, span.split()[0]) for span in BAD_SPANS),
        ([*BOTH, "nowhere.yaml", "--save", "x/runs.csv"], 1, 'cannot write "x/runs.csv": there is no folder'),
        ([*BOTH, "nowhere.yaml", "--report", "x/it.html"], 1, 'cannot write "x/it.html": there is no folder'),
        ([*BOTH, "nowhere.yaml", "--period", "0"], 2, '"0" is too short'),
    ],
    ids=[
        "one",
        "two ways",
        "no workload",
        "no conf",
        "no format",
        *BAD_SPANS,
        "no folder",
        "no place",
        "no period",
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder: Path, arguments: list[str], code: int, said: str) -> None:
    told = hekla(folder, *arguments)
    assert told.returncode == code
    assert said in told.stderr
    assert "Traceback" not in told.stderr


def test_a_mistake_in_a_configuration_is_told_before_anything_runs(folder: Path) -> None:
    (folder / "pack.conf").write_text(PACKING.replace("allocate", "alocate"))
    told = hekla(folder, *BOTH, "fragments.yaml")
    assert told.returncode == 1
    assert 'did you mean "allocate"' in told.stderr
    assert "Traceback" not in told.stderr


def test_a_plugin_that_fails_in_a_process_is_one_message(folder: Path) -> None:
    confs = ("--conf", "pack.conf", "--conf", "failing.conf", "--plugin", "own.py:Failing")
    told = hekla(folder, *confs, "chancy.yaml", "--processes", "2", "--seeds", "3")
    assert told.returncode == 1
    assert "no more" in told.stderr
    assert "failing.conf, seed" in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1


def test_a_process_that_dies_is_told_without_a_traceback(folder: Path) -> None:
    confs = ("--conf", "pack.conf", "--conf", "dying.conf", "--plugin", "own.py:Dying")
    told = hekla(folder, *confs, "fragments.yaml", "--processes", "2")
    assert told.returncode == 1
    assert told.stderr == (
        "error: a process that simulated ended at once, killed or out of memory; try with fewer at a time\n"
    )


def test_a_sample_of_generated_jobs_is_another_with_every_seed(folder: Path) -> None:
    told = hekla(folder, *BOTH, "chancy.yaml", "--sample", "0.8", "--seeds", "2", "--processes", "1")
    assert "\n95 % intervals, paired over 2 seeds: each brings other jobs" in told.stdout


def test_a_sample_of_a_trace_is_the_same_with_every_seed(folder: Path) -> None:
    told = hekla(folder, *BOTH, "fragments.yaml", "--sample", "0.8", "--seeds", "2", "--processes", "1")
    assert "\none run each" in told.stdout


def test_where_there_are_no_jobs_there_is_no_verdict(folder: Path) -> None:
    told = hekla(folder, *BOTH, "fragments.yaml", "--sample", "0", "--processes", "1")
    assert (told.returncode, told.stdout) == (1, "")
    assert "error: no job to compare: nothing was handed in under any configuration" in told.stderr


def test_what_was_found_is_told_even_if_it_cannot_be_saved(folder: Path) -> None:
    """The folder may go away meanwhile, or, as here, there is no room for the file."""
    told = hekla(folder, *BOTH, "fragments.yaml", "--processes", "1", "--report", "/dev/full")
    assert told.returncode == 1
    assert "pack.conf is better than spread.conf" in told.stdout
    assert "No space left on device" in told.stderr


def test_the_same_configuration_twice_gets_a_number(folder: Path) -> None:
    told = hekla(folder, "--conf", "pack.conf", "--conf", "pack.conf", "fragments.yaml", "--processes", "1")
    said = "= pack.conf (2) makes no difference: every job starts and ends as under pack.conf"
    assert " ".join(told.stdout.split()).startswith(said)


def test_ctrl_c_ends_all_processes_and_tells_the_pairs_that_are_complete(folder: Path) -> None:
    confs = ("--conf", "counting.conf", "--conf", "pack.conf", "--plugin", "own.py:Counting")
    started = subprocess.Popen(
        [*COMMAND, *confs, "chancy.yaml", "--seeds", "500", "--processes", "2"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True,
    )  # fmt: skip
    counted = folder / "cycles"
    while not counted.exists() or counted.stat().st_size < 200:  # several runs of some forty cycles
        assert started.poll() is None, started.communicate()
        time.sleep(0.02)
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does: to all of them
    output, errors = started.communicate(timeout=120)  # ends when the last process has closed its output
    assert started.returncode == 130
    assert "of 500 seeds complete" in output
    assert output.startswith("= pack.conf makes no difference")
    assert "Traceback" not in errors
