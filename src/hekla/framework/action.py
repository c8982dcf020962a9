"""Action: one step of a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from hekla.framework.plugin import NoArguments

if TYPE_CHECKING:
    from hekla.framework.session import Session


class Action:
    """Derive, give it a name, and say in `run` what it does to a session."""

    name: ClassVar[str]
    Arguments: ClassVar[type] = NoArguments

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments

    def run(self, session: Session) -> None:
        raise NotImplementedError
