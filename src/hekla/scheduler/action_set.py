"""The actions of a configuration, made once: taken in before its first cycle, let go after its last."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from types import TracebackType

from hekla.conf import Conf
from hekla.engine.framework.action import Action
from hekla.engine.framework.registry import Registry, Step, steps_of
from hekla.engine.framework.session import Session
from hekla.errors import PluginError, said_by
from hekla.scheduler.builtin import BUILTIN

Call = tuple[str, Callable[[Session], None]]
"""What a cycle calls, and the name of the action that does it."""

logger = logging.getLogger("hekla.scheduler")


class ActionSet:
    """The actions that are in use, by name; one that is listed twice is one action."""

    def __init__(self, conf: Conf, registry: Registry = BUILTIN) -> None:
        self._registry = registry
        self._steps: dict[str, Step] = {}
        self._actions: dict[str, Action] = {}
        self._names: tuple[str, ...] = ()
        self.calls: list[Call] = []
        self.use(conf)

    def in_order(self) -> list[tuple[str, Action]]:
        """The actions as a cycle runs them."""
        return [(name, self._actions[name]) for name in self._names]

    def use(self, conf: Conf) -> None:
        """Go over to another configuration: what it has and says alike stays, the rest is exchanged.

        Where an action cannot be initialized, a PluginError says so, and everything is as before.
        """
        steps = steps_of(conf, self._registry)
        wanted = {step.name: step for step in steps}
        kept = {name: self._actions[name] for name, step in wanted.items() if self._steps.get(name) == step}
        taken: dict[str, Action] = {}
        try:
            for name, step in wanted.items():
                if name not in kept:
                    taken[name] = _taken_in(step)
        except BaseException:
            _let_go(taken)
            raise
        dropped = {name: action for name, action in self._actions.items() if name not in kept}
        self._steps, self._actions = wanted, {**kept, **taken}
        self._names = tuple(step.name for step in steps)
        self.calls = _calls(self.in_order())
        _let_go(dropped)

    def close(self) -> None:
        """Let all actions go; a second time there is nothing to let go."""
        actions, self._steps, self._actions, self._names, self.calls = self._actions, {}, {}, (), []
        _let_go(actions)

    def __enter__(self) -> ActionSet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _calls(in_order: Sequence[tuple[str, Action]]) -> list[Call]:
    """All actions prepare, those that do anything then, before the first one runs."""
    preparing = [(n, one) for n, one in dict(in_order).items() if type(one).prepare is not Action.prepare]
    return [*((name, one.prepare) for name, one in preparing), *((name, one.run) for name, one in in_order)]


def _taken_in(step: Step) -> Action:
    try:
        action = step.action(step.arguments)
        action.initialize()
    except Exception as error:
        raise PluginError(f'action "{step.name}" could not be initialized: {said_by(error)}') from error
    return action


def _let_go(actions: dict[str, Action]) -> None:
    """Last in, first out; one that fails is logged and does not keep the rest."""
    for name, action in reversed(actions.items()):
        try:
            action.uninitialize()
        except Exception as error:
            logger.error('action "%s" failed in uninitialize: %s', name, said_by(error))
