"""`hekla workload` as users meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hekla.cli.main import cli
from hekla.cli.options import FORMATS
from hekla.errors import InputError
from hekla.simulation.workloads.read import FORMATS as READERS

SWF = """; Queue: 1 batch
1 0 -1 60 4 -1 -1 4 600 -1 1 3 -1 -1 1 -1 -1 -1
2 30 -1 120 2 -1 -1 2 -1 -1 1 4 -1 -1 1 -1 -1 -1
3 90 -1 -1 2 -1 -1 2 -1 -1 5 4 -1 -1 1 -1 -1 -1
"""


def hekla(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["workload", *map(str, arguments)])


def test_every_format_can_be_named() -> None:
    assert set(FORMATS) == set(READERS)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log.swf"
    file.write_text(SWF)
    return file


def test_show_tells_jobs_sizes_queues_and_what_was_left_out(log: Path) -> None:
    told = hekla("show", log)
    assert told.exit_code == 0, told.output
    assert told.output == (
        "log: 2 jobs of 2 users in 30s\n\n"
        "           LEAST   MEDIAN   P90    P99    MOST\n"
        "pods       2       2        4      4      4\n"
        "run time   1m0s    1m0s     2m0s   2m0s   2m0s\n\n"
        "QUEUE   JOBS   USERS   PODS   CPU HOURS\n"
        "batch   2      2       6      0.1\n\n"
        "with it: 1 Queue\n\n"
        "1 left out: a job that never ran (status 5, no run time)\n"
    )


def test_show_in_json(log: Path) -> None:
    data = json.loads(hekla("show", log, "-o", "json", "--limit", "1").stdout)
    assert (data["jobs"], data["pods"]["most"], data["dropped"]) == (1, 4, {})
    assert data["queues"]["batch"] == {
        "jobs": 1,
        "pods": 4,
        "users": 1,
        "resourceHours": {"cpu": 0.067},
    }


def test_show_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("jobs: []\n")
    assert hekla("show", tmp_path / "empty.yaml").output == "empty: 0 jobs in 0s\n"


def test_convert_makes_a_file_that_is_the_same_workload(log: Path, tmp_path: Path) -> None:
    for name in ("log.yaml", "log.jsonl"):
        told = hekla("convert", log, "-O", tmp_path / name)
        assert told.stderr.splitlines()[-1] == f"wrote 2 jobs to {tmp_path / name}"
        assert json.loads(hekla("show", tmp_path / name, "-o", "json").stdout)["runSeconds"]["most"] == 120
    assert hekla("convert", log, "--limit", "1").stdout.splitlines()[-1].startswith('- {"name": "swf-1"')


def test_generate_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    nodes = "4 x cpu=96,memory=1Ti,gpu=8"
    first = hekla("generate", "--jobs", "20", "--load", "0.7", "--nodes", nodes, "--seed", "1")
    again = hekla("generate", "--jobs", "20", "--load", "0.7", "--nodes", nodes, "--seed", "1")
    assert first.exit_code == 0, first.output
    assert first.stdout == again.stdout
    file = tmp_path / "made.yaml"
    file.write_text(first.stdout)
    assert json.loads(hekla("show", file, "-o", "json").stdout)["objects"]["Node"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", "--load", "0.5"), "--load is a share of nodes: say which with --nodes"),
        (
            ("generate", "--load", "0.5", "--rate", "3", "--nodes", "1 x cpu=1"),
            "give either --load or --rate",
        ),
        (("generate", "-O", "made.txt"), "no form is written under this suffix"),
    ],
)
def test_wrong_calls_are_told(arguments: tuple[str, ...], message: str) -> None:
    told = hekla(*arguments)
    assert told.exit_code == 2
    assert message in told.output


def test_a_file_that_cannot_be_used_is_an_error_for_main(tmp_path: Path) -> None:
    told = hekla("show", tmp_path / "nothing.swf")
    assert isinstance(told.exception, InputError)
    assert str(told.exception) == f"{tmp_path / 'nothing.swf'}: no such file"


def test_show_reads_standard_input() -> None:
    told = CliRunner().invoke(cli, ["workload", "show", "-", "-o", "json"], input=SWF)
    assert json.loads(told.stdout)["name"] == "stdin"
