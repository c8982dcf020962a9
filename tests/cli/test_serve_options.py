"""`hekla serve` takes the command line that was written for Volcano's scheduler."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Timer
from typing import IO

import pytest
from click import Command, Context, Group, Option, UsageError

from fakes.http_api import ApiThread
from hekla.cli.main import cli
from hekla.cli.serve import options_from, serve, without_effect
from hekla.server.options import ServeOptions
from hekla.testing import job, node, queue, stamped

CHART = (
    "--logtostderr --scheduler-conf=/volcano.scheduler/volcano-scheduler.conf --enable-healthz=true "
    "--enable-metrics=true --leader-elect=false --kube-api-qps=2000 --kube-api-burst=2000 "
    "--schedule-period=1s --node-worker-threads=20 -v=3 2>&1"
)
"""As Volcano's own chart starts it, to the last word, which is meant for a shell that there is not."""
ALL_OF_CHART = (
    "--logtostderr --scheduler-conf=/volcano.scheduler/volcano-scheduler.conf --scheduler-name=volcano "
    "--enable-healthz=true --enable-metrics=true --enable-pprof=true --leader-elect=true "
    "--leader-elect-resource-namespace=volcano-system --kube-api-qps=2000 --kube-api-burst=2000 "
    "--schedule-period=1s --node-worker-threads=20 --percentage-nodes-to-find=0 --plugins-dir=/plugins "
    "--feature-gates=SchedulingGatesQueueAdmission=true --ignored-provisioners=local "
    "--scheduler-sharding-mode=none -v=3 2>&1"
)
"""With everything that the chart can be told."""


def understood(line: str) -> ServeOptions:
    """What the process is told by this command line."""
    with Context(serve, info_name="serve") as context:
        serve.parse_args(context, line.split())
        told: ServeOptions = options_from(context.params)
    return told


def test_everything_that_the_chart_can_be_told_is_understood() -> None:
    options = understood(ALL_OF_CHART)
    assert options.lease is not None
    assert options.lease.namespace == "volcano-system"


def test_what_has_no_effect_is_told() -> None:
    with Context(serve, info_name="serve") as context:
        serve.parse_args(context, ALL_OF_CHART.split())
        said = without_effect(context.params)
    assert {"--feature-gates", "--plugins-dir", "--logtostderr"} <= set(said)
    assert not {"--leader-elect", "--kube-api-qps"} & set(said)
    with Context(serve, info_name="serve") as context:
        serve.parse_args(context, [])
        assert without_effect(context.params) == []


@contextmanager
def served(folder: Path, *words: str) -> Iterator[Popen[str]]:
    """`hekla serve` as a process of its own, on a small cluster; the tests must not fight for its ports."""
    objects = stamped([queue("root"), queue("default"), node("n1"), *job("a", cpu=1).objects])
    ports = ("--listen-address=127.0.0.1:0", "--healthz-address=127.0.0.1:0")
    with ApiThread(*objects) as server:
        whole = ("serve", f"--kubeconfig={server.kubeconfig(folder)}", *ports, *words)
        with Popen([sys.executable, "-m", "hekla", *whole], stderr=PIPE, text=True) as process:
            timer = Timer(30, process.kill)
            timer.start()
            yield process
            timer.cancel()


def test_serve_starts_with_the_arguments_of_volcanos_deployment(tmp_path: Path) -> None:
    conf = tmp_path / "volcano-scheduler.conf"
    conf.write_text('actions: "enqueue, allocate, backfill"\ntiers:\n- plugins:\n  - name: gang\n')
    line = CHART.replace("/volcano.scheduler/volcano-scheduler.conf", str(conf)).split()
    with served(tmp_path, *line) as process:
        assert process.stderr is not None
        said = list(lines_up_to("1 bind", process.stderr))
        process.terminate()
        said += process.stderr
        assert process.wait(10) == 0, said
    assert any("without effect here: " in line and "--logtostderr" in line for line in said)


def test_serve_ends_with_one_clear_line_where_it_gives_up(tmp_path: Path) -> None:
    plugin, conf = tmp_path / "broken.py", tmp_path / "scheduler.conf"
    plugin.write_text(
        "from hekla.engine.framework.plugin import Plugin\n\n\nclass Broken(Plugin):\n    name = 'broken'\n\n"
        "    def on_open(self):\n        raise RuntimeError('no idea')\n"
    )
    conf.write_text('actions: "allocate"\ntiers:\n- plugins:\n  - name: broken\n')
    words = (f"--plugin={plugin}:Broken", f"--scheduler-conf={conf}", "--leader-elect=false")
    with served(tmp_path, *words, "--schedule-period=50ms") as process:
        assert process.stderr is not None
        said = process.stderr.read().splitlines()
        assert process.wait(10) == 1
    assert said[-1] == (
        'error: 10 cycles in a row failed, the last one with: plugin "broken" failed: RuntimeError: no idea'
    )


def lines_up_to(word: str, stream: IO[str]) -> Iterator[str]:
    for line in stream:
        yield line
        if word in line:
            return


def commands(command: Command, name: str = "") -> Iterator[tuple[str, Command]]:
    """All commands that do something, by the words that call them."""
    if isinstance(command, Group):
        context = Context(command)
        for word in command.list_commands(context):
            found = command.get_command(context, word)
            assert found is not None
            yield from commands(found, f"{name} {word}".strip())
    else:
        yield name, command


SWITCHES = [
    pytest.param(command, option, id=f"{name} {option.opts[0]}")
    for name, command in commands(cli)
    for option in command.params
    if isinstance(option, Option) and option.is_flag and not option.hidden
]


@pytest.mark.parametrize(("command", "option"), SWITCHES)
def test_every_switch_of_every_command_takes_a_value(command: Command, option: Option) -> None:
    for name in option.opts:
        for word, wanted in (("true", True), ("false", False), ("1", True), ("0", False)):
            with Context(command, resilient_parsing=True) as context:
                command.parse_args(context, [f"{name}={word}"])
            assert bool(context.params[option.name or ""]) is wanted


def test_the_command_line_of_volcanos_chart_is_understood() -> None:
    options = understood(CHART)
    assert options.lease is None
    assert options.metrics_address
    assert options.health_address
    assert str(options.conf_file) == "/volcano.scheduler/volcano-scheduler.conf"


@pytest.mark.parametrize("line", ["--leader-elect=true", "--leader-elect", "--leader-elect=1", ""])
def test_a_switch_is_on_with_and_without_a_value(line: str) -> None:
    assert understood(line).lease is not None


@pytest.mark.parametrize("line", ["--leader-elect=false", "--no-leader-elect", "--leader-elect=0"])
def test_a_switch_is_off_in_both_spellings(line: str) -> None:
    assert understood(line).lease is None


def test_a_value_that_is_neither_yes_nor_no_is_refused() -> None:
    with pytest.raises(UsageError, match="maybe"):
        understood("--leader-elect=maybe")


def test_an_option_that_would_change_decisions_and_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="node-selector"):
        understood("--node-selector=pool:batch")
