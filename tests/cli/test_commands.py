"""The commands as users and scripts meet them: what is printed, where, and with which exit code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli.calling import called as hekla

NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 2, pods: 10}}}"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: solo}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: 1}}}]}
"""
ACTIONS = ("enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle")


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(f"{NODE}\n---{POD}")
    return file


def scenario(tmp_path: Path, name: str, conf: str = 'actions: "allocate"\ntiers: []\n') -> Path:
    node = yaml.safe_load(NODE)
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}}
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": {"queue": "q", "minMember": 1},
        "status": {"phase": "Inqueue"},
    }
    pod = yaml.safe_load(POD)
    pod["metadata"] |= {"namespace": "ns", "annotations": {"scheduling.k8s.io/group-name": "g"}}
    file = tmp_path / f"{name}.json"
    file.write_text(json.dumps({"name": name, "conf": conf, "objects": [node, queue, group, pod]}))
    return file


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--period", "0", "not in the range x>0"),
        ("--period", "-1", "not in the range x>0"),
        ("--period", "nan", "finite"),
        ("--period", "inf", "finite"),
        ("--run-seconds", "-3", "not in the range x>=0"),
        ("--until", "nan", "finite"),
        ("--until", "-1", "not in the range x>=0"),
        ("--pace", "-1", "not in the range x>=0"),
    ],
)
def test_run_refuses_times_that_no_clock_reaches(manifests: Path, option: str, value: str, said: str) -> None:
    told = hekla("run", manifests, option, value)
    assert told.returncode == 2
    assert option in told.stderr
    assert said in told.stderr


@pytest.mark.parametrize("option", ["--report", "--record"])
def test_run_looks_for_the_folder_before_it_begins(manifests: Path, option: str) -> None:
    told = hekla("run", manifests, option, manifests.parent / "nodir" / "x")
    assert (told.returncode, told.stdout) == (1, "")
    assert 'nodir"; name a file in a folder that is there' in told.stderr


def test_run_tells_its_summary_even_if_the_report_cannot_be_written(manifests: Path) -> None:
    told = hekla("run", manifests, "--report", "/dev/full")
    assert told.returncode == 1
    assert "decisions: enqueue 1, allocate 1" in told.stdout
    assert "the report cannot be written" in told.stderr


def test_decide_prints_a_table_for_people(manifests: Path) -> None:
    told = hekla("decide", manifests)
    assert told.returncode == 0
    assert "default/solo   n1" in told.stdout
    assert "1 bound, 0 evicted, 0 pipelined" in told.stdout


def test_decide_reads_manifests_from_standard_input() -> None:
    assert "default/solo   n1" in hekla("decide", "-", stdin=f"{NODE}\n---{POD}").stdout


@pytest.mark.parametrize("style", ["json", "yaml"])
def test_decide_prints_data_for_scripts(manifests: Path, style: str) -> None:
    told = yaml.safe_load(hekla("decide", manifests, "-o", style).stdout)
    assert told["binds"] == {"default/solo": "n1"}
    assert set(told) == {"name", "binds", "evictions", "pipelined", "podGroups", "times"}


def test_a_profile_stands_below_the_outcome_and_divides_up_the_times(manifests: Path) -> None:
    shown = hekla("decide", manifests, "--profile").stdout
    assert shown.index("1 bound, 0 evicted") < shown.index("where the time went")
    told = json.loads(hekla("decide", manifests, "--profile", "-o", "json").stdout)
    parts = {line["part"] for line in told["profile"]}
    assert parts == set(told["times"]) - {"load"}
    allocate = sum(line["seconds"] for line in told["profile"] if line["part"] == "allocate")
    assert allocate == pytest.approx(told["times"]["allocate"], abs=1e-4)


def test_scenarios_are_profiled_too(tmp_path: Path) -> None:
    told = json.loads(hekla("decide", scenario(tmp_path, "a"), "--profile", "-o", "json").stdout)
    assert {line["who"] for line in told["profile"]} == {"engine"}


def test_several_scenarios_give_one_line_each_and_a_broken_one_costs_only_its_own(tmp_path: Path) -> None:
    files = [
        scenario(tmp_path, "a"),
        scenario(tmp_path, "b", conf='actions: "alocate"'),
        scenario(tmp_path, "c"),
    ]
    told = hekla("decide", *files)
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert [line["name"] for line in lines] == ["a", "b", "c"]
    assert [line.get("binds") for line in lines] == [{"ns/solo": "n1"}, None, {"ns/solo": "n1"}]
    assert 'did you mean "allocate"' in lines[1]["error"]
    assert told.returncode == 1


def test_the_same_input_gives_the_same_output(tmp_path: Path) -> None:
    file = scenario(tmp_path, "a")
    first, second = (json.loads(hekla("decide", file, "-o", "json").stdout) for _ in range(2))
    assert {**first, "times": {}} == {**second, "times": {}}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["decide"], 2, "give FILES, or --from-cluster"),
        (["decide", "nowhere.yaml"], 1, 'error: no file or folder "nowhere.yaml"'),
        (["decide", "-", "--conf", "nowhere.conf"], 1, 'error: cannot read "nowhere.conf"'),
        (["decide", "-", "--plugin", "nowhere:Class"], 1, 'error: cannot import "nowhere"'),
        (["decide", "-", "--plugin", "nonsense"], 1, "write module:Class or file.py:Class"),
        (["plugins", "binpak"], 1, 'error: no plugin "binpak"'),
        (["frobnicate"], 2, "No such command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_wrong_is_said_in_one_line(arguments: list[str], code: int, said: str) -> None:
    told = hekla(*arguments, stdin=f"{NODE}\n---{POD}")
    assert told.returncode == code
    assert said in told.stderr
    assert "Traceback" not in told.stderr


def test_explain_of_one_job_and_of_an_unknown_name(manifests: Path) -> None:
    assert "nothing waits" in hekla("explain", manifests).stdout
    unknown = hekla("explain", manifests, "--job", "nobody")
    assert unknown.returncode == 1
    assert 'no pod group "nobody"' in unknown.stderr


def test_run_tells_what_became_of_every_job(manifests: Path) -> None:
    told = json.loads(hekla("run", manifests, "-o", "json").stdout)
    (job,) = told["jobs"]
    assert (job["state"], job["bound"], job["waitedSeconds"]) == ("Completed", 1, 0.0)


def test_conf_check_fails_on_errors_and_strictly_on_warnings(tmp_path: Path) -> None:
    file = tmp_path / "s.conf"
    file.write_text('actions: "allocate"\ntiers: []\ncolour: red\n')
    assert hekla("conf", "check", file).returncode == 0
    assert hekla("conf", "check", "--strict", file).returncode == 1
    file.write_text('actions: "alocate"\n')
    assert hekla("conf", "check", file).returncode == 1


@pytest.mark.parametrize(
    "preset", ["default", "helm", "basic", "fair-sharing", "everything", "priority-first"]
)
def test_every_preset_is_free_of_mistakes(preset: str) -> None:
    shown = hekla("conf", "show", "--preset", preset, "--strict")
    assert (shown.returncode, shown.stderr) == (0, "")


def test_the_demo_shows_every_action_at_work_and_ends_with_nothing_waiting(tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    told = hekla("demo", "--report", page).stdout
    counts = {name: int(count) for name, count in re.findall(r"^  (\w+) +(\d+) times? ", told, re.MULTILINE)}
    assert {action: counts[action] > 0 for action in ACTIONS} == dict.fromkeys(ACTIONS, True)
    assert "of train in rack-1" in told
    assert "still waiting" not in told
    assert f"to open in a browser: {page}" in told
    assert "hekla demo" in page.read_text("utf-8")


@pytest.mark.parametrize("command", ["run", "demo"])
def test_a_report_that_cannot_be_written_is_told_before_anything_runs(
    command: str, manifests: Path, tmp_path: Path
) -> None:
    files = [manifests] if command == "run" else []
    told = hekla(command, *files, "--report", tmp_path / "nowhere" / "it.html")
    assert (told.returncode, told.stdout) == (1, "")
    assert "there is no folder" in told.stderr


def test_the_files_of_the_demo_can_be_taken_home_and_run(tmp_path: Path) -> None:
    exported = hekla("demo", "--export", tmp_path / "mine")
    assert exported.returncode == 0
    command = exported.stdout.splitlines()[-1].split()[1:]
    assert "default/train" in hekla(*command).stdout


def test_the_help_needs_nothing_that_is_slow_to_import() -> None:
    """Numbers, manifests and terminals are imported by the command that needs them, not to list commands."""
    code = "import sys; from hekla.cli.main import cli; cli(['--help'], standalone_mode=False)"
    command = [sys.executable, "-c", f"{code}; print(*sys.modules)"]
    told = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert "Decide and run:" in told.stdout
    modules = set(told.stdout.splitlines()[-1].split())
    assert modules & {"numpy", "msgspec", "yaml", "rich", "re2", "hekla.engine.framework.session"} == set()
