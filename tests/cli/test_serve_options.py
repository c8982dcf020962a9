"""`hekla serve` takes the command line that was written for Volcano's scheduler."""

from __future__ import annotations

import pytest
from click import Context, UsageError

from hekla.cli.serve import options_from, serve
from hekla.serve.options import ServeOptions

CHART = (
    "--logtostderr --scheduler-conf=/volcano.scheduler/volcano-scheduler.conf --enable-healthz=true "
    "--enable-metrics=true --leader-elect=false --kube-api-qps=2000 --kube-api-burst=2000 "
    "--schedule-period=1s --node-worker-threads=20 -v=3"
)
"""As Volcano's own chart starts it."""


def understood(line: str) -> ServeOptions:
    """What the process is told by this command line."""
    with Context(serve, info_name="serve") as context:
        serve.parse_args(context, line.split())
        told: ServeOptions = options_from(context.params)
    return told


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
