"""Actions as they stand in the table, and what they take."""

from __future__ import annotations

import pytest

from hekla.conf import describe_arguments, read_arguments
from hekla.engine.actions import BUILTIN_ACTIONS
from hekla.engine.framework.action import Action
from hekla.engine.framework.session import Session
from hekla.errors import PluginError
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.testing import Story, conf_of, job, node


def test_the_six_actions_of_volcano_are_there() -> None:
    assert set(BUILTIN_ACTIONS) >= {"enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle"}


@pytest.mark.parametrize("name", ["allocate", "backfill", "preempt", "reclaim"])
def test_the_error_cache_is_on_and_may_be_spelt_both_ways(name: str) -> None:
    arguments = BUILTIN_ACTIONS[name].Arguments
    assert "predicateErrorCacheEnable" in [row.key for row in describe_arguments(arguments)]
    assert read_arguments(arguments, {}, name)[0].error_cache is True
    told, mistakes = read_arguments(arguments, {"enablePredicateErrorCache": False}, name)
    assert told.error_cache is False
    assert len(mistakes) == 1


class Broken(Action):
    name = "broken"

    def run(self, session: Session) -> None:
        raise ZeroDivisionError("oh dear")


def test_an_action_that_breaks_is_named() -> None:
    story = Story("a broken action", [node("n1")], [job("a", cpu=1)])
    registry = BUILTIN.with_class(Broken)
    with pytest.raises(PluginError, match='action "broken" failed: ZeroDivisionError: oh dear'):
        run_cycle(story.session().snapshot, conf_of("broken", ()), registry=registry)
