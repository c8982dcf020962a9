"""The picture that `run` and `demo` draw: it fits the terminal, the newest events and all names are read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.color import Color
from rich.console import Console, ConsoleDimensions

from cli.calling import called as hekla
from hekla.cli import screen
from hekla.cli.demo import CLUSTER, CONF, HERE, Maintenance
from hekla.cli.drain import Drain
from hekla.cli.embedded_run import Embedded, PrintedLog, embed
from hekla.cli.options import registry_with, usable_conf
from hekla.cli.screen import LEGEND, MARKS, STYLES, Screen, fitted
from hekla.clock import VirtualClock
from hekla.scheduler.cycle import CycleReport
from hekla.testing import conf_of
from hekla.text import shortened_inside

NODES = ("node-a", "node-b", "node-c", "node-d")
SIZES = [(80, 24), (120, 40)]


def drawn(picture: Screen, report: CycleReport, width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(picture.picture(report.session, ConsoleDimensions(width, height)))
    return captured.get().splitlines()


def pictures(embedded: Embedded, width: int, height: int) -> Iterator[tuple[list[str], str]]:
    """What the terminal shows cycle by cycle, and the newest sentence of what happened."""
    start = embedded.clock.now()
    picture, log, newest = Screen("hekla demo", start), PrintedLog(start), ""
    found: list[tuple[list[str], str]] = []
    maintenance = Maintenance(embedded)

    def on_cycle(report: CycleReport) -> None:
        nonlocal newest
        events = log.record(report)
        newest = events[-1][1] if events else newest
        picture.tell(report.session.now, events)
        found.append((drawn(picture, report, width, height), newest))
        maintenance(report)

    embedded.loop.run(on_cycle=on_cycle)
    yield from found


def demo() -> Embedded:
    registry = registry_with(()).with_class(Drain)
    conf = usable_conf((HERE / CONF).read_text("utf-8"), "demo", registry, strict=True)
    return embed([Path(str(HERE / CLUSTER))], conf, registry, clock=VirtualClock(0.0))


@pytest.mark.parametrize(("width", "height"), [*SIZES, (100, 30), (60, 18), (80, 12)])
def test_every_picture_of_the_demo_fits_and_ends_with_the_newest_event(width: int, height: int) -> None:
    for lines, newest in pictures(demo(), width, height):
        assert len(lines) < height  # a line is left for the cursor
        assert max(map(len, lines)) <= width
        told = " ".join(" ".join(line.strip("│ ") for line in lines if line.startswith("│")).split())
        assert told.endswith(" ".join(newest.split()) or "nothing yet")


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_names_of_the_demo_are_whole_and_marks_are_explained(width: int, height: int) -> None:
    seen: set[str] = set()
    for lines, _ in pictures(demo(), width, height):
        text = "\n".join(lines)
        assert "…" not in text
        assert all(name in text for name in NODES)
        assert lines[-1] == LEGEND
        seen |= {mark for mark in LEGEND if mark in text.replace(LEGEND, "")}
    assert {"●", "◐", "◌", "○", "✕"} <= seen
    assert any("4 cordoned" in "\n".join(lines) for lines, _ in pictures(demo(), width, height))


def test_every_mark_but_that_of_what_is_unknown_is_in_the_legend() -> None:
    assert {mark for mark, _ in MARKS.values()} - set(LEGEND) == {"?"}


def test_columns_stand_still_once_they_are_wide_enough() -> None:
    heads = [lines[1] for lines, _ in pictures(demo(), 80, 24)]
    assert len(set(heads)) < 6 < len(heads)
    assert len(set(heads[len(heads) // 2 :])) == 1


def crowd(folder: Path, count: int) -> Embedded:
    """Many nodes whose names differ at their ends, and as many jobs."""
    file = folder / "crowd.yaml"
    documents = [
        f"{{apiVersion: v1, kind: Node, metadata: {{name: gpu-pool-frankfurt-rack-7-{number:03}}}, "
        "status: {allocatable: {cpu: 4, pods: 10}}}"
        for number in range(count)
    ]
    documents += [
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: pod-{number:03}}}, spec: {{schedulerName: volcano, "
        "containers: [{name: main, resources: {requests: {cpu: 1}}}]}}"
        for number in range(count)
    ]
    file.write_text("\n---\n".join(documents))
    return embed([file], conf_of("enqueue, allocate"), registry_with(()))


def test_a_large_cluster_is_cut_to_the_terminal_and_says_how_much_more_there_is(tmp_path: Path) -> None:
    for lines, newest in pictures(crowd(tmp_path, 60), 80, 24):
        assert len(lines) < 24
        text = "\n".join(lines)
        assert "and 5" in text
        assert newest.split(" (")[0] in " ".join(text.replace("│", "").split()) or not newest
        names = [word for line in lines[:-1] for word in line.split() if word.startswith("gpu-po")]
        assert len(set(names)) == len(names) > 3


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [("node-a", 6, "node-a"), ("node-alpha-17", 8, "node…-17"), ("abc", 1, "…"), ("abcdef", 2, "a…")],
)
def test_a_long_name_keeps_both_ends(text: str, width: int, shown: str) -> None:
    assert shortened_inside(text, width) == shown


def test_the_column_that_can_gives_way_first_and_none_becomes_too_narrow_to_read() -> None:
    naturals = {"job": 30, "queue": 8, "phase": 9, "ready": 5, "pods": 16, "name": 6, "bar": 16, "figure": 8}
    assert fitted(naturals, 98) == naturals
    assert fitted(naturals, 90) == naturals | {"job": 22}
    assert fitted(naturals | {"job": 8}, 72) == naturals | {"job": 8, "bar": 12}
    assert fitted(naturals, 0) == naturals | screen.LEAST


@pytest.mark.parametrize(
    "style", sorted({*STYLES.values(), *(style for _, style in MARKS.values())} - {"dim"})
)
@pytest.mark.parametrize("background", [0.0, 1.0], ids=["dark", "light"])
def test_colours_are_read_on_dark_and_on_light_terminals(style: str, background: float) -> None:
    """A contrast of 3 is what guidelines for reading ask of marks and large text."""
    light = luminance(style)
    brighter, darker = max(light, background), min(light, background)
    assert (brighter + 0.05) / (darker + 0.05) >= 3.5


def luminance(style: str) -> float:
    parts = [part / 255 for part in Color.parse(style).get_truecolor()]
    red, green, blue = (part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_what_the_demo_prints_at_its_end_fits_80_columns(tmp_path: Path) -> None:
    told = hekla("demo", folder=tmp_path).stdout
    end = told[told.index("\nJOB") :]
    assert max(map(len, end.splitlines())) <= 80
