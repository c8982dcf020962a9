"""`hekla replay`: recorded cycles decided again, looked at one by one, and cut down to small scenarios."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hekla.cli.go_switches import GoSwitches
from hekla.cli.spans import SPAN
from hekla.cli.style import Style, output_option
from hekla.conf.presets import PRESETS

if TYPE_CHECKING:
    from hekla.insight.replay import Recording

NEEDS_A_CYCLE = ("step", "shrink", "save", "job", "pod", "keep")


@click.command(cls=GoSwitches)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--at", type=click.IntRange(1), metavar="N", help="Look at this cycle alone, action by action.")
@click.option("--conf", "conf_file", type=click.Path(path_type=Path), help="Decide under another one.")
@click.option("--preset", type=click.Choice(sorted(PRESETS)), help="Decide under a built-in one instead.")
@click.option("--strict", is_flag=True, help="Treat warnings about that configuration as errors.")
@click.option("--plugin", "plugins", multiple=True, metavar="MODULE:CLASS", help="A plugin of your own.")
@click.option("--step", is_flag=True, help="Stop after every action; Enter goes on, q quits.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the cycle as a scenario, FILE.json.")
@click.option("--shrink", is_flag=True, help="Leave out of it what its problem does not need.")
@click.option("--job", metavar="NAME", help="The problem: this job waits, for the same reason.")
@click.option("--pod", metavar="NAME", help="The problem: the same becomes of this pod.")
@click.option("--keep", metavar="TEXT", help="The problem: this is said (of the job, with --job).")
@click.option(
    "--tries", default=2000, show_default=True, type=click.IntRange(1), help="For --shrink, at most."
)
@click.option("--seconds", "span", type=SPAN, help="For --shrink, about how long at most.")
@output_option
def replay(file: Path, output: Style | None, **given: Any) -> None:
    """Decide the cycles in FILE once more, and tell whether each comes out as it was recorded.

    FILE was written by `hekla run --record` or `hekla serve --record`. With --at one cycle is told action by
    action. With --conf or --preset the same inputs are decided under another configuration, each cycle
    by itself, and what differs is told. With --shrink a cycle is cut down to a small scenario that still
    shows its problem: an error, a broken rule, a job that waits (--job), what becomes of a pod (--pod),
    words that are said (--keep), or a difference between configurations (--conf).
    """
    from hekla.cli.cutting import cut_out  # noqa: PLC0415 - --help stays quick
    from hekla.cli.options import chosen_conf, registry_with  # noqa: PLC0415
    from hekla.cli.replays import listing, one_cycle  # noqa: PLC0415
    from hekla.insight.replay import Recording  # noqa: PLC0415

    _check(given)
    registry = registry_with(given["plugins"])
    recording = Recording(file)
    own = given["conf_file"] or given["preset"]
    conf = chosen_conf(given["conf_file"], given["preset"], registry, strict=given["strict"]) if own else None
    _warn_of_header(recording, given["plugins"])
    style, is_same = output or Style.TABLE, True
    if given["at"] is None:
        is_same = listing(recording, registry, conf, style)
    elif given["shrink"] or given["save"] is not None:
        cut_out(recording, registry, conf, given, style)
    else:
        is_same = one_cycle(recording, registry, conf, given["at"], style, in_steps=given["step"])
    if not is_same:
        sys.exit(1)


def _check(given: dict[str, Any]) -> None:
    wanted = [option for option in NEEDS_A_CYCLE if given[option]]
    if wanted and given["at"] is None:
        raise click.UsageError(f"--{wanted[0]} is about one cycle: say which with --at N")
    if any(given[option] for option in ("job", "pod", "keep")) and not given["shrink"]:
        raise click.UsageError("--job, --pod and --keep say what --shrink is to keep")
    if given["job"] and given["pod"]:
        raise click.UsageError("give either --job or --pod, not both")
    if (given["conf_file"] or given["preset"]) and (given["job"] or given["keep"]):
        raise click.UsageError("between two configurations, --pod alone says what --shrink is to keep")
    if given["save"] is not None and given["save"].suffix.lower() != ".json":
        raise click.UsageError(f'a scenario is a JSON file: call it "{given["save"].stem}.json"')


def _warn_of_header(recording: Recording, plugins: tuple[str, ...]) -> None:
    """What may make cycles come out otherwise than they did."""
    from hekla import __version__  # noqa: PLC0415 - --help stays quick
    from hekla.cli.terminal import warn  # noqa: PLC0415

    header = recording.header
    if header.hekla != __version__:
        warn([f"recorded by hekla {header.hekla}, decided again by {__version__}"])
    missing = [name for name in header.plugins if name not in plugins]
    if missing:
        warn([f"recorded with {' '.join(f'--plugin {name}' for name in missing)}; give it here as well"])
