"""Switches as commands written in Go take them: `--leader-elect=false` for `--no-leader-elect`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

SHELL_WORD = "2>&1"
"""Stands last in the arguments of Volcano's Deployments, where no shell reads it."""


class GoSwitches(click.Command):
    """A command whose switches may have a value after `=`; manifests made for Volcano write them so."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._plain(args, ctx)))

    def _plain(self, args: Sequence[str], ctx: click.Context) -> Iterator[str]:
        """The words as click knows them; a switch that is off anyway needs none."""
        end = args.index("--") if "--" in args else len(args)
        for word in args[:end]:
            name, _, value = word.partition("=")
            switch = self._switch(name) if value else None
            if switch is not None:
                yes, no = switch.opts[:1], switch.secondary_opts[:1]
                yield from yes if click.BOOL.convert(value, switch, ctx) is (name in switch.opts) else no
            elif word != SHELL_WORD:
                yield word
        yield from args[end:]

    def _switch(self, name: str) -> click.Option | None:
        switches = (option for option in self.params if isinstance(option, click.Option) and option.is_flag)
        return next((one for one in switches if name in (*one.opts, *one.secondary_opts)), None)


class GoSwitchGroup(click.Group):
    """A group of such commands."""

    command_class = GoSwitches
