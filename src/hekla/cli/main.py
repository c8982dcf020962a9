"""`hekla`: the command. Each subcommand is imported only when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import click

from hekla import __version__
from hekla.cli.examples import write_examples
from hekla.cli.interrupt import ending_by_interrupt
from hekla.cli.output import echo, safe_complaints
from hekla.errors import ConfError, HeklaError, InputError
from hekla.text import escaped

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "actions": "hekla.cli.catalogue:actions",
    "capacity": "hekla.cli.capacity:capacity",
    "compare": "hekla.cli.compare:compare",
    "conf": "hekla.cli.catalogue:conf",
    "decide": "hekla.cli.decide:decide",
    "demo": "hekla.cli.demo:demo",
    "explain": "hekla.cli.explain:explain",
    "forecast": "hekla.cli.forecast:forecast",
    "history": "hekla.cli.history:history",
    "install": "hekla.cli.install:install",
    "job": "hekla.cli.job:job",
    "node": "hekla.cli.node:node",
    "plan": "hekla.cli.plan:plan",
    "plugins": "hekla.cli.catalogue:plugins",
    "queue": "hekla.cli.queue:queue",
    "replay": "hekla.cli.replay:replay",
    "run": "hekla.cli.run:run",
    "serve": "hekla.cli.serve:serve",
    "shadow": "hekla.cli.shadow:shadow",
    "simulate": "hekla.cli.simulate:simulate",
    "snapshot": "hekla.cli.snapshot:snapshot",
    "workload": "hekla.cli.workload:workload",
}
SUMMARIES = {
    "actions": "List the actions and their arguments.",
    "capacity": "Tell how many nodes, or how much quota, a workload needs.",
    "compare": "Run a workload under several configurations and tell which is better.",
    "conf": "Check and show scheduler configurations.",
    "decide": "Run one scheduling cycle and print the decisions.",
    "demo": "Watch all six actions at work on a built-in cluster.",
    "explain": "Tell why pod groups are pending.",
    "forecast": "Tell when jobs that wait will start, and how far to trust that.",
    "history": "Write the jobs that a cluster has finished as a workload.",
    "install": "Print or apply what a cluster needs to run hekla.",
    "job": "Look at the jobs of a Kubernetes cluster, or of files.",
    "node": "Look at the nodes of a Kubernetes cluster, or of files.",
    "plan": "Tell whether a job would start, and what would help.",
    "plugins": "List the plugins, their arguments and extension points.",
    "queue": "Look at the queues of a Kubernetes cluster, or of files.",
    "replay": "Decide recorded cycles again, look at one, or shrink it.",
    "run": "Run a cluster over many cycles until all is done.",
    "serve": "Schedule the pods of a Kubernetes cluster.",
    "shadow": "Watch another scheduler and tell where hekla would differ.",
    "simulate": "Run a workload in virtual time and tell what became of every job.",
    "snapshot": "Write the state of a Kubernetes cluster to a file.",
    "workload": "Look at workloads, make them up, convert traces.",
}
GROUPS = {
    "Decide and run": ("decide", "explain", "run", "demo"),
    "What if": ("plan", "forecast", "simulate", "compare", "capacity", "workload", "history"),
    "Clusters": ("install", "serve", "shadow", "snapshot", "replay", "job", "queue", "node"),
    "Configuration": ("conf", "plugins", "actions"),
}
"""What belongs together in the help."""
EXTRA = ("aiohttp", "kubernetes", "prometheus_client")
"""What some commands import and `pip install hekla` does not bring."""


OPTIONS = {"help": "--help", "version": "--version"}
"""What are commands elsewhere."""


class LazyGroup(click.Group):
    """Lists its commands without importing them."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with safe_complaints():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with safe_complaints(), ending_by_interrupt():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, name = place.split(":")
        try:
            command: click.Command = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name in EXTRA:
                raise InputError(f'"{cmd_name}" needs more: pip install "hekla[kubernetes]"') from error
            raise
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, SUMMARIES))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), SUMMARIES[name]) for name in names])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(ctx.command_path, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; where there is none, the ones that may be."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as unknown:
            name = unknown.command_name
            if name in OPTIONS:
                said = f"No such command {name!r}. Did you mean {OPTIONS[name]!r}?"
                raise click.UsageError(said, ctx) from None
            raise click.NoSuchCommand(name, possibilities=COMMANDS, ctx=ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only shells ask for it

        names = (name for name in self.list_commands(ctx) if name.startswith(incomplete))
        items = [CompletionItem(name, help=SUMMARIES[name]) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hekla")
def cli() -> None:
    """A batch scheduler for AI and HPC clusters that decides as Volcano does, and says why."""


def main() -> None:
    """Exit codes: 0 done, 1 the input cannot be used, 2 called wrongly, 130 by Ctrl-C; `plan` adds 4."""
    try:
        cli(prog_name="hekla")
    except ConfError as error:
        echo(str(error), err=True)  # each line says how bad it is
        sys.exit(1)
    except HeklaError as error:
        echo(f"error: {escaped(str(error))}", err=True)
        sys.exit(1)
