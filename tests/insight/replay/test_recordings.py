"""What is written down, and what can be made of a file that is not as it should be."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from hekla.cluster.embedded import Options
from hekla.engine.framework.action import Action
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.plugins.tdm import LAST_EVICTION
from hekla.engine.state.live import LiveState
from hekla.errors import InputError
from hekla.insight.replay import Recording, replay, travel_to
from hekla.objects import Manifest, Pod
from hekla.objects.keys import CPU_USAGE, MEMORY_USAGE
from hekla.scheduler.builtin import BUILTIN
from hekla.server.recording.recorder import everything_in, put_aside
from hekla.server.recording.records import FORMAT, Checkpoint, Configuration, Cycle
from hekla.server.recording.writer import older
from hekla.testing import conf_of, job, node, node_shard, plugin, pod, queue, stamped
from insight.replay.recorded import Recorder, all_cycles, assert_identical, kinds_of

PLAIN = conf_of("enqueue, allocate, backfill", ("priority, gang", "predicates, proportion, binpack"))


def objects(jobs: int = 3) -> list[Manifest]:
    gangs = [one for at in range(jobs) for one in job(f"j{at}", tasks=2, cpu=1, phase="Pending").objects]
    return stamped([queue("default"), node("n1"), node("n2", cpu=1), *gangs])


def record(path: Path, cycles: int = 8, **recorder: object) -> Path:
    with Recorder(
        path, objects(), PLAIN, options=Options(admission=False, run_seconds=3.0), **recorder
    ) as one:
        one.cycles(cycles)
    return path


def record_unrest(path: Path, cycles: int, **recorder: object) -> Path:
    """A job more in every cycle."""
    options = Options(admission=False, run_seconds=2.0)
    with Recorder(path, objects(12), PLAIN, options=options, **recorder) as one:
        for at in range(cycles):
            one.cycles(1)
            one.cluster.submit(stamped(job(f"more{at}", tasks=2, cpu=1, phase="Pending").objects))
            wait_for_the_writer(one)
    return path


def wait_for_the_writer(one: Recorder) -> None:
    """Until it is at the last entry: a page is known to be full only once it is written."""
    while not one.recorder._writer._queue.empty():
        time.sleep(0.001)


def test_a_checkpoint_is_made_once_enough_has_changed(tmp_path: Path) -> None:
    path = record(tmp_path / "r", checkpoint_every=3)
    assert kinds_of(path, Checkpoint) == 2
    assert kinds_of(path, Configuration) == 1
    assert assert_identical(path) == list(range(1, 9))


def test_nothing_happens_so_that_no_checkpoint_is_due(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r", stamped([queue("default"), node("n1")]), PLAIN, checkpoint_every=2) as one:
        one.cycles(9)
    assert kinds_of(tmp_path / "r", Checkpoint) == 0


def test_the_same_cycles_give_the_same_bytes(tmp_path: Path) -> None:
    assert record(tmp_path / "a").read_bytes() == record(tmp_path / "b").read_bytes()


def test_it_is_plain_gzip_with_a_json_object_per_line(tmp_path: Path) -> None:
    path = record(tmp_path / "r", checkpoint_every=3)
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert lines[0] == {"record": "header", "format": FORMAT, "hekla": "test"}
    assert {line["record"] for line in lines} == {"header", "configuration", "checkpoint", "cycle"}


def test_a_reloaded_configuration_holds_from_its_cycle_on(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with Recorder(path, objects(), PLAIN, checkpoint_every=2) as one:
        one.cycles(1)
        one.loop.use(conf_of("allocate", ("priority, gang", "predicates, nodeorder")))
        one.cycles(2)
        one.loop.use(PLAIN)
        one.cycles(2)
    assert kinds_of(path, Configuration) == 3
    assert_identical(path)
    actions = [travel_to(Recording(path), at, BUILTIN)[0].conf.actions for at in (1, 2, 3, 4)]  # type: ignore[union-attr]
    assert [len(names) for names in actions] == [3, 1, 1, 3]


def test_what_plugins_remember_and_what_was_measured_come_back(tmp_path: Path) -> None:
    """tdm evicts once a minute at most, and usage goes by load: both are inputs."""
    busy = {CPU_USAGE: "95", MEMORY_USAGE: "10"}
    conf = conf_of(
        "enqueue, allocate, shuffle",
        (["tdm", "gang"], ["predicates", plugin("usage", {"thresholds": {"cpu": 80}})]),
    )
    objects = [queue("default"), node("n1", annotations=busy), node("n2")]
    path = tmp_path / "r"
    with Recorder(path, stamped([*objects, *job("a", tasks=2, cpu=1).objects]), conf) as one:
        one.cycles(3)
    assert_identical(path)
    replayer, cycle = travel_to(Recording(path), 3, BUILTIN)
    assert replayer.memory == {LAST_EVICTION: cycle.now - 2.0}
    assert replayer.load["n1"].cpu == 95.0
    assert "n2" not in replayer.load


def test_another_configuration_goes_by_what_stands_on_nodes_though_nothing_was_measured(
    tmp_path: Path,
) -> None:
    objects = [queue("default"), node("n1", annotations={CPU_USAGE: "95"}), node("n2", cpu=2)]
    packing = conf_of("allocate", ("gang", "predicates, nodeorder"))
    with Recorder(tmp_path / "r", stamped([*objects, *job("a", cpu=1).objects]), packing) as one:
        one.cycles(1)
    wary = conf_of("allocate", (["gang"], ["predicates", plugin("usage", {"thresholds": {"cpu": 80}})]))
    (replayed,) = replay(Recording(tmp_path / "r"), BUILTIN, wary)
    assert [str(one) for one in replayed.differences(only_pods=True)] == [
        "pod default/a-0: bound to n1 -> bound to n2"
    ]


def test_a_shard_comes_back(tmp_path: Path) -> None:
    everything = [*objects(), node_shard("volcano", desired=["n2"])]
    options = Options(admission=False, shard_mode="hard")
    with Recorder(tmp_path / "r", everything, PLAIN, options=options) as one:
        one.cycles(3)
    assert_identical(tmp_path / "r")
    replayer, _ = travel_to(Recording(tmp_path / "r"), 2, BUILTIN)
    assert (replayer.shard.mode, replayer.shard.nodes) == ("hard", frozenset({"n2"}))


class Stumble(Action):
    """Fails while a pod of the name `boom` waits."""

    name = "stumble"

    def run(self, session: Session) -> None:
        for task in session.tasks:
            if task.name == "boom" and task.status is Status.PENDING:
                raise ValueError(f"pod {task.key}")


def test_a_cycle_that_fails_fails_again(tmp_path: Path) -> None:
    registry = BUILTIN.with_class(Stumble)
    conf = conf_of("allocate, stumble", ("priority, gang", "predicates"))
    path = tmp_path / "r"
    with Recorder(path, objects(), conf, registry=registry) as one:
        one.cycles(1)
        one.cluster.submit([pod("boom", cpu=99)])
        one.cycles(2)
    assert_identical(path, registry)
    with pytest.raises(InputError, match='has action "stumble", which is not known; give it by --plugin'):
        all_cycles(path)
    endings = [cycle.error for cycle in all_cycles(path, registry)]
    assert endings == [None, *['action "stumble" failed: ValueError: pod default/boom'] * 2]


def test_pods_stand_in_a_checkpoint_as_their_tasks_do() -> None:
    """One that could not be read at first stands where it arrived."""
    state = LiveState()
    good, late = pod("late", job="a"), pod("other", job="a")
    bad = replace(good, spec=pod("late", job="a", resources={"cpu": "many"}).spec)
    for manifests in ([queue("default"), job("a", tasks=0).pod_group, bad, late], [good]):
        for manifest in manifests:
            state.note(manifest)
        state.take_in()
    assert [task.name for task in state.tasks] == ["late", "other"]
    again = LiveState()
    for of_kind in everything_in(state).values():
        for manifest in of_kind.values():
            assert manifest is not None
            again.note(manifest)
    again.take_in()
    assert [task.name for task in again.tasks] == ["late", "other"]
    assert list(everything_in(state)[Pod]) == ["default/late", "default/other"]


# Files that are not as they should be


def test_a_killed_process_loses_at_most_its_last_cycle(tmp_path: Path) -> None:
    whole = record(tmp_path / "whole", checkpoint_every=3)
    content = whole.read_bytes()
    cut = tmp_path / "cut"
    known: Sequence[int] = ()
    for end in range(200, len(content), 97):
        cut.write_bytes(content[:end])
        recording = Recording(cut)
        found = [one.cycle.number for one in replay(recording, BUILTIN)]
        assert list(known) == found[: len(known)], "more of the file, and less in it"
        assert found == list(range(1, len(found) + 1))
        assert len(recording.complaints) <= 1
        known = found
    assert len(known) >= 7


def test_half_a_record_is_told_and_left_out(tmp_path: Path) -> None:
    text = gzip.decompress(record(tmp_path / "whole").read_bytes())
    half = tmp_path / "half"
    half.write_bytes(gzip.compress(text[:-40]))
    recording = Recording(half)
    assert len(list(replay(recording, BUILTIN))) == 7
    assert "the last record is only half there" in recording.complaints[0]


def test_a_damaged_place_costs_no_more_than_the_way_to_the_next_checkpoint(tmp_path: Path) -> None:
    whole = record_unrest(tmp_path / "whole", 40, checkpoint_every=3)
    content, path = whole.read_bytes(), tmp_path / "r"
    assert kinds_of(whole, Checkpoint) > 3
    for at in range(400, len(content), 613):
        path.write_bytes(content[:at] + b"\x55\xaa\x55\xaa" + content[at + 4 :])
        recording = Recording(path)
        numbers = [one.number for one in recording if isinstance(one, Cycle)]
        assert recording.complaints, at
        assert numbers == sorted(set(numbers))
        if at < len(content) // 2:
            assert numbers[-1] == 40, "the second half is as it was"


def test_cycles_after_a_damaged_place_are_decided_as_they_were(tmp_path: Path) -> None:
    path = record_unrest(tmp_path / "r", 40, checkpoint_every=3)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)
    last = all_cycles(path)[-1]
    assert (last.cycle.number, last.is_identical) == (40, True)


def _file(path: Path, *lines: dict[str, object]) -> Path:
    path.write_bytes(gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
    return path


def test_a_newer_format_is_refused_by_name(tmp_path: Path) -> None:
    path = _file(tmp_path / "r", {"record": "header", "format": FORMAT + 1, "hekla": "9.9"})
    with pytest.raises(InputError, match=r"written by hekla 9\.9 in format 2, and this one reads format 1"):
        Recording(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"apiVersion: v1", "not compressed"),
        (gzip.compress(b"hello\n"), "does not begin with a header"),
        (gzip.compress(b'{"record":"configuration","text":""}\n'), "does not begin with a header"),
        (zlib.compress(b"x"), "not compressed"),
    ],
    ids=["empty", "a manifest", "other text", "no header", "packed otherwise"],
)
def test_a_file_that_is_no_recording_is_called_so(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "r"
    path.write_bytes(content)
    with pytest.raises(InputError, match=reason):
        Recording(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        Recording(tmp_path / "nowhere")


def test_cycles_that_are_missing_without_a_checkpoint_are_told(tmp_path: Path) -> None:
    text = gzip.decompress(record(tmp_path / "r").read_bytes()).splitlines(keepends=True)
    path = tmp_path / "gap"
    path.write_bytes(gzip.compress(b"".join(line for line in text if b'"number":3,' not in line)))
    with pytest.raises(InputError, match="cycles are missing before cycle 4"):
        list(replay(Recording(path), BUILTIN))


def test_a_cycle_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no cycle 99 .* it has cycles 1 to 8"):
        travel_to(Recording(record(tmp_path / "r")), 99, BUILTIN)


# Writing under difficulties


def test_a_missed_cycle_is_bridged_by_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r"
    with Recorder(path, objects(), PLAIN, is_patient=False) as one:
        take = one.recorder._writer.take

        def busy(entry, *, patiently: bool) -> bool:  # type: ignore[no-untyped-def]
            return entry.number not in (2, 3) and take(entry, patiently=True)

        monkeypatch.setattr(one.recorder._writer, "take", busy)
        one.cycles(6)
        assert one.recorder.missed == 2
    assert assert_identical(path) == [1, 4, 5, 6]


def test_the_page_is_turned_at_half_the_limit(tmp_path: Path) -> None:
    path = record_unrest(tmp_path / "r", 60, limit=12_000)
    first, second = assert_identical(older(path)), assert_identical(path)
    assert second == list(range(second[0], 61))
    assert first[-1] + 1 == second[0]
    assert len(first) > 3, "a page is turned when it is full, not before"
    assert path.stat().st_size + older(path).stat().st_size < 2 * 12_000


def test_a_recording_that_is_there_is_put_aside(tmp_path: Path) -> None:
    path = record(tmp_path / "r")
    content = path.read_bytes()
    put_aside(path)
    assert not path.exists()
    assert older(path).read_bytes() == content


def test_a_folder_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        record(tmp_path)


def test_a_disk_that_fills_up_ends_the_recording_and_not_the_run(tmp_path: Path) -> None:
    one = Recorder(tmp_path / "r", objects(), PLAIN)
    one.cycles(1)

    def full(_data: bytes) -> int:
        raise OSError(28, "No space left on device")

    file = one.recorder._writer._file
    one.recorder._writer._file = SimpleNamespace(write=full, close=file.close)  # type: ignore[assignment]
    one.cycles(80)
    assert one.loop.cycles == 81
    with pytest.raises(InputError, match="No space left on device; the recording ends here"):
        one.recorder.close()


def test_what_cannot_be_encoded_ends_the_recording_and_not_the_run(tmp_path: Path) -> None:
    one = Recorder(tmp_path / "r", [*objects(), node("n9", labels={"zone": "\ud800"})], PLAIN)
    one.cycles(80)
    with pytest.raises(InputError, match="UnicodeEncodeError"):
        one.recorder.close()


def test_numbers_of_changes_are_those_of_objects(tmp_path: Path) -> None:
    path = record(tmp_path / "r", cycles=1)
    (cycle,) = [one for one in Recording(path) if isinstance(one, Cycle)]
    assert cycle.count == len(objects()) + 1, "a cluster makes its root queue itself"


class Piece(bytes):
    """Counts how many bytes are copied when something is put before it."""

    copied = 0

    def __radd__(self, before: bytes) -> bytes:
        Piece.copied += len(before) + len(self)
        return bytes(before) + bytes(self)


def test_a_long_line_is_put_together_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint of a large cluster is one line of tens of thousands of pieces."""
    recording = Recording(record(tmp_path / "r", 1))
    line = b'{"record":"configuration","text":"' + b"x" * 1_000_000 + b'"}'
    pieces = [Piece(line[at : at + 4096]) for at in range(0, len(line), 4096)]
    monkeypatch.setattr(recording, "_pieces", lambda: iter([*pieces, Piece(b"\n" + line + b"\n")]))
    found = list(recording)
    assert [len(each.text) for each in found if isinstance(each, Configuration)] == [1_000_000] * 2
    assert Piece.copied <= 3 * len(line)


def rewritten(path: Path, old: bytes, new: bytes) -> Path:
    content = gzip.decompress(path.read_bytes())
    assert old in content
    path.write_bytes(gzip.compress(content.replace(old, new)))
    return path


def test_an_object_that_cannot_be_read_costs_one_complaint(tmp_path: Path) -> None:
    path = rewritten(record(tmp_path / "r", 2), b'"minMember":2', b'"minMember":"two"')
    recording = Recording(path)
    cycles = list(replay(recording, BUILTIN))
    assert [cycle.cycle.number for cycle in cycles] == [1, 2]
    told = [text for text in recording.complaints if "j0: left out: spec.minMember" in text]
    assert told[0].startswith(
        "cycle 1: podgroup default/j0: left out: spec.minMember: expected a whole number"
    )


@pytest.mark.parametrize("is_there", [False, True])
def test_recordings_are_for_their_owner_alone(tmp_path: Path, is_there: bool) -> None:
    path = tmp_path / "r"
    if is_there:
        path.write_text("something else")
        path.chmod(0o644)
    record_unrest(path, 30, limit=4000, checkpoint_every=5)
    assert older(path).exists()
    put_aside(path)
    record(path)
    assert [file.stat().st_mode & 0o777 for file in (path, older(path))] == [0o600] * 2
