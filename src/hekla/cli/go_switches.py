"""Switches as commands written in Go take them: `--leader-elect=false` for `--no-leader-elect`."""

from __future__ import annotations

import click


class GoSwitches(click.Command):
    """A command whose switches may have a value after `=`; manifests made for Volcano write them so."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [self._plain(word, ctx) for word in args])

    def _plain(self, word: str, ctx: click.Context) -> str:
        """The word as click knows it."""
        name, _, value = word.partition("=")
        switch = next((option for option in self.params if name in option.opts), None)
        if not value or switch is None or not switch.secondary_opts:
            return word
        return name if click.BOOL.convert(value, switch, ctx) else switch.secondary_opts[0]
