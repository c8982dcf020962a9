"""`hekla run --record` and `hekla replay` as users meet them; a real server, recorded."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakes.http_api import HttpApi
from hekla.cli import replays
from hekla.cli.main import cli
from hekla.errors import InputError
from hekla.insight.replay import Recording
from hekla.objects import Pod
from hekla.server.recording.records import Configuration, Cycle
from hekla.server.recording.writer import older
from hekla.testing import job, node, queue, stamped
from insight.replay.recorded import assert_identical
from server.serving import serving, until

EXAMPLES = Path(__file__).parents[3] / "examples"
PREEMPTION = EXAMPLES / "04-preemption"
STORIES = [
    ("03-fair-share", None),
    ("04-preemption", "scheduler.conf"),
    ("05-reclaim", "scheduler.conf"),
    ("06-backfill-best-effort", None),
    ("10-topology", "scheduler.conf"),
    ("11-hierarchy", "branch.conf"),
    ("12-backfill-reserved-room", "hold.conf"),
]


def hekla(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)))


def record(path: Path, example: str = "04-preemption", conf: str | None = "scheduler.conf") -> Path:
    folder = EXAMPLES / example
    chosen = [] if conf is None else ["--conf", folder / conf]
    told = hekla("run", *sorted(folder.glob("*.yaml")), *chosen, "--record", path, "--until", 200)
    assert told.exit_code == 0, told.output
    return path


@pytest.mark.parametrize(("example", "conf"), STORIES)
def test_an_example_is_decided_again_as_it_was(tmp_path: Path, example: str, conf: str | None) -> None:
    path = record(tmp_path / "r", example, conf)
    assert len(assert_identical(path)) > 1
    told = hekla("replay", path)
    assert told.exit_code == 0
    assert told.stdout.rstrip().endswith(", 0 not")


def test_a_run_that_is_recorded_prints_what_it_printed_before(tmp_path: Path) -> None:
    files = ("--conf", PREEMPTION / "scheduler.conf", PREEMPTION / "cluster.yaml", PREEMPTION / "jobs.yaml")
    assert hekla("run", *files).output == hekla("run", *files, "--record", tmp_path / "r").output


def test_files_that_cannot_be_run_do_not_cost_the_recording_that_is_there(tmp_path: Path) -> None:
    path = record(tmp_path / "r")
    content = path.read_bytes()
    assert isinstance(hekla("run", tmp_path / "nowhere", "--record", path).exception, InputError)
    assert path.read_bytes() == content


def test_a_line_per_cycle_and_a_summary(tmp_path: Path) -> None:
    lines = hekla("replay", record(tmp_path / "r")).stdout.splitlines()
    assert lines[0].split() == ["CYCLE", "TIME", "CHANGES", "BOUND", "EVICTED", "OUTCOME"]
    assert lines[2].split() == ["2", "2026-01-01T00:00:01Z", "6", "4", "0", "identical"]
    assert lines[-1].endswith("identical, 0 not")


def altered(path: Path, old: bytes, new: bytes) -> Path:
    text = gzip.decompress(path.read_bytes())
    assert old in text
    path.write_bytes(gzip.compress(text.replace(old, new)))
    return path


def test_a_difference_is_shown_and_ends_with_1(tmp_path: Path) -> None:
    path = record(tmp_path / "r")
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if b'["Bind",' in line)
    cycle = json.loads(lines[at])
    cycle["decisions"][0][1]["node"], cycle["digest"] = "elsewhere", "another"
    lines[at] = json.dumps(cycle).encode() + b"\n"
    path.write_bytes(gzip.compress(b"".join(lines)))
    told = hekla("replay", path)
    assert told.exit_code == 1
    assert "pod default/sweep-trial-0: bound to elsewhere -> bound to node-a" in told.stdout
    assert told.stdout.rstrip().endswith(", 1 not")
    one = hekla("replay", path, "--at", cycle["number"])
    assert one.exit_code == 1
    assert "1 difference from what was recorded" in one.stdout


def test_json_for_machines(tmp_path: Path) -> None:
    data = json.loads(hekla("replay", record(tmp_path / "r"), "-o", "json").stdout)
    assert (data["different"], data["complaints"]) == (0, [])
    assert data["identical"] == len(data["cycles"])
    assert [row["cycle"] for row in data["cycles"] if row["evicted"]] == [6]


def test_one_cycle_action_by_action(tmp_path: Path) -> None:
    told = hekla("replay", record(tmp_path / "r"), "--at", 6).stdout
    assert told.startswith("cycle 6 at 2026-01-01T00:00:11Z")
    preempt = told.index("\npreempt\n")
    assert (
        told.index("\nallocate")
        < preempt
        < told.index("evicted from node-a for default/hotfix-default-hotfix")
    )
    assert "default/hotfix: admitted, not all of it runs (2 pipelined" in told
    assert told.rstrip().endswith("identical to what was recorded")


def test_steps_where_there_is_no_terminal_are_told_in_one_go(tmp_path: Path) -> None:
    path = record(tmp_path / "r")
    assert hekla("replay", path, "--at", 6, "--step").stdout == hekla("replay", path, "--at", 6).stdout


def test_on_a_terminal_enter_goes_on_and_q_quits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = record(tmp_path / "r")
    monkeypatch.setattr(replays, "is_terminal", lambda: True)
    told = CliRunner().invoke(cli, ["replay", str(path), "--at", "6", "--step"], input="\nq\n").stdout
    assert "-- Enter: allocate, q: quit" in told
    assert "\nallocate" in told
    assert "evicted from" not in told
    assert "identical" not in told


def test_one_cycle_for_machines(tmp_path: Path) -> None:
    data = json.loads(hekla("replay", record(tmp_path / "r"), "--at", 6, "-o", "json").stdout)
    assert data["identical"] is True
    assert [act["action"] for act in data["actions"]][-1] == "close"
    assert [one["job"] for one in data["waiting"]] == ["default/hotfix"]


def test_another_configuration_on_the_same_inputs(tmp_path: Path) -> None:
    path = record(tmp_path / "r")
    told = hekla("replay", path, "--preset", "basic")
    assert told.exit_code == 0, "that they differ is the answer, not a mistake"
    assert "pod default/hotfix-fix-0: nominated to node-a -> nothing" in told.stdout
    assert told.stdout.rstrip().endswith("decided alike, 1 not")


def test_a_cycle_saved_is_a_scenario_that_decides_the_same(tmp_path: Path) -> None:
    path, file = record(tmp_path / "r"), tmp_path / "six.json"
    assert "wrote cycle 6 with" in hekla("replay", path, "--at", 6, "--save", file).stdout
    data = json.loads(hekla("decide", file, "-o", "json").stdout)
    assert data["evictions"] == ["default/sweep-trial-3", "default/sweep-trial-2"]


def test_a_shrunk_cycle_still_tells_why(tmp_path: Path) -> None:
    path, file = record(tmp_path / "r"), tmp_path / "small.json"
    told = hekla("replay", path, "--at", 6, "--shrink", "--pod", "sweep-trial-3", "--save", file)
    assert "kept: default/sweep-trial-3: evicted from node-a for default/hotfix-default-hotfix" in told.stdout
    assert "(nothing more can go)" in told.stdout
    assert "default/sweep-trial-3" in json.loads(hekla("decide", file, "-o", "json").stdout)["evictions"]


def test_a_scenario_goes_to_standard_output_unless_told_where(tmp_path: Path) -> None:
    data = json.loads(
        hekla("replay", record(tmp_path / "r"), "--at", 6, "--shrink", "--job", "hotfix").stdout
    )
    assert data["now"] == 1_767_225_611.0
    assert any(one["metadata"]["name"] == "hotfix-default-hotfix" for one in data["objects"])


def test_a_shrinking_that_was_cut_short_says_so_beside_the_scenario(tmp_path: Path) -> None:
    shrinking = ("replay", record(tmp_path / "r"), "--at", 6, "--shrink", "--job", "hotfix")
    short, whole = hekla(*shrinking, "--tries", 3), hekla(*shrinking)
    left = len(json.loads(short.stdout)["objects"])
    assert short.stderr.startswith(f"{left} of ")
    assert short.stderr.endswith(
        " objects left after 3 tries (the limit was reached; more could go); raise --tries or --seconds\n"
    )
    assert whole.stderr == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shrink"], "--shrink is about one cycle: say which with --at N"),
        (["--at", "2", "--job", "a"], "say what --shrink is to keep"),
        (["--at", "2", "--shrink", "--job", "a", "--pod", "b"], "either --job or --pod"),
        (["--at", "2", "--save", "x.yaml"], 'call it "x.json"'),
        (["--at", "2", "--shrink", "--preset", "basic", "--keep", "x"], "--pod alone"),
        (["--conf", "a", "--preset", "basic"], "either --conf or --preset"),
    ],
)
def test_a_wrong_call_is_told(tmp_path: Path, options: list[str], message: str) -> None:
    told = hekla("replay", record(tmp_path / "r"), *options)
    assert told.exit_code == 2
    assert message in told.stderr


def test_unknown_pods_and_jobs_are_told_with_those_there_are(tmp_path: Path) -> None:
    path = record(tmp_path / "r")
    for option, known in (("--job", "default/sweep"), ("--pod", "default/sweep-trial-0")):
        told = hekla("replay", path, "--at", 2, "--shrink", option, "nobody")
        assert isinstance(told.exception, InputError)
        assert known in str(told.exception)


def test_a_recording_of_another_version_is_decided_with_a_warning(tmp_path: Path) -> None:
    path = altered(record(tmp_path / "r"), b'"hekla":"', b'"hekla":"0.0.')
    told = hekla("replay", path)
    assert told.exit_code == 0
    assert "warning: recorded by hekla 0.0." in told.stderr


def test_plugins_of_ones_own_are_asked_for_again(tmp_path: Path) -> None:
    folder, path = EXAMPLES / "07-your-own-plugin", tmp_path / "r"
    reference = f"{folder / 'rack.py'}:Rack"
    given = (*folder.glob("*.yaml"), "--conf", folder / "scheduler.conf", "--plugin", reference)
    assert hekla("run", *given, "--record", path, "--until", 60).exit_code == 0
    assert hekla("replay", path, "--plugin", reference).exit_code == 0
    assert f"recorded with --plugin {reference}; give it here as well" in hekla("replay", path).stderr


def test_a_server_is_recorded_while_its_configuration_changes(tmp_path: Path) -> None:
    path, conf = tmp_path / "r", tmp_path / "scheduler.conf"
    conf.write_text(
        'actions: "enqueue, allocate, backfill"\ntiers:\n- plugins: [{name: gang}, {name: predicates}]\n'
    )
    path.write_bytes(b"an older recording")
    objects = stamped([queue("root"), queue("default"), node("n1"), *job("a", tasks=2, cpu=1).objects])

    async def part() -> None:
        async with HttpApi(*objects) as api, serving(api, record=path, conf_file=conf) as server:
            await until(lambda: all(api.find(Pod, f"default/a-{n}")["spec"].get("nodeName") for n in (0, 1)))
            cycles = server.cycles
            conf.write_text(conf.read_text().replace("{name: gang}", "{name: gang}, {name: priority}"))
            await until(lambda: server.conf_file.reloads == 1 and server.cycles > cycles + 3)

    asyncio.run(part())
    assert older(path).read_bytes() == b"an older recording"
    numbers = assert_identical(path)
    records = list(Recording(path))
    assert numbers == list(range(1, len(numbers) + 1))
    assert sum(isinstance(one, Configuration) for one in records) == 2
    binding = [one for one in records if isinstance(one, Cycle) and b'"Bind"' in bytes(one.decisions)]
    assert len(binding) == 1
    assert Recording(path).header.schedulers == ("volcano",)
    assert hekla("replay", path, "--at", binding[0].number).exit_code == 0
