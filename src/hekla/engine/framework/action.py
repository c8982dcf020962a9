"""Action: one step of a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from hekla.engine.framework.plugin import NoArguments

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session
    from hekla.engine.state.attention import WaitingRules


class Action:
    """Derive, give it a name, and say in `run` what it does to a session.

    One is made for a configuration and lives as long as that is in use: `initialize`, then `run` in every
    cycle, then `uninitialize`.
    """

    name: ClassVar[str]
    Arguments: ClassVar[type] = NoArguments

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments

    def initialize(self) -> None:
        """The scheduler takes the action in: before its first cycle, once."""

    def leaves_waiting(self, rules: WaitingRules) -> WaitingRules:
        """Which of the jobs that may wait unseen the action need not see; of those that lack room none."""
        return replace(rules, for_room=False)

    def prepare(self, session: Session) -> None:
        """Called in every cycle before the first action runs; what it decides counts as the action's."""

    def run(self, session: Session) -> None:
        raise NotImplementedError

    def uninitialize(self) -> None:
        """The scheduler lets the action go, once: the configuration has changed, or the scheduler ends."""
