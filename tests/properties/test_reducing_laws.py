"""A plugin that normalises its scores is asked for every set of candidates, whatever shortcuts there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from moves import deeds

from hekla.conf import Conf, PluginEntry, Tier
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, NODE_ORDER_REDUCE, Scope, answers
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.shortcuts import NO_SHORTCUT
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.task import Task
from hekla.scheduler.builtin import BUILTIN
from hekla.testing.conf_strategies import confs
from hekla.testing.special_strategies import gang_clusters, gang_confs, medley_confs, medleys
from hekla.testing.strategies import clusters

CPU = 0


class Rescaling(Plugin):
    """Prefers idle nodes: the idlest candidate gets 100, the busiest 0."""

    name = "rescaling"

    @answers(NODE_ORDER, Scope.LEDGER)
    def prefer_idle_nodes(self, task: Task, states: NodeStates) -> Floats:
        return states.idle[CPU].astype(np.float64)

    @answers(NODE_ORDER_REDUCE)
    def up_to_100(self, task: Task, scores: Floats, among: Mask) -> Floats:
        return rescaled(scores, among)


class InOneGo(Plugin):
    """The same, said anew at every attempt."""

    name = "rescaling"

    @answers(NODE_ORDER)
    def prefer_idle_nodes(self, task: Task, among: Mask) -> Floats:
        return rescaled(self.session.nodes.idle[:, CPU].astype(np.float64), among)


def rescaled(scores: Floats, among: Mask) -> Floats:
    least, most = scores[among].min(), scores[among].max()
    return 100 * (scores - least) / max(most - least, 1)


def with_plugin(plugin: type[Plugin]) -> Registry:
    return BUILTIN.with_class(plugin)


MAPPING_AND_REDUCING, SAYING_BOTH_IN_ONE = map(with_plugin, (Rescaling, InOneGo))


def ending_with_it(conf: Conf) -> Conf:
    return replace(conf, tiers=(*conf.tiers, Tier((PluginEntry("rescaling"),))))


WORLDS = {
    "any": st.tuples(clusters(), confs()),
    "whole gangs": st.tuples(gang_clusters(), gang_confs()),
    "every job asks for something else": st.tuples(medleys(), medley_confs()),
}
"""A cluster and a configuration, drawn together."""


@pytest.mark.parametrize("world", WORLDS)
@examples(0.5)
@given(data=st.data())
def test_shortcuts_decide_as_the_long_way_does(world: str, data: st.DataObject) -> None:
    cluster, conf = data.draw(WORLDS[world])
    conf = ending_with_it(conf)
    quick = deeds(cluster.cycle(conf, registry=MAPPING_AND_REDUCING).decisions)
    slow = deeds(cluster.cycle(conf, NO_SHORTCUT, registry=MAPPING_AND_REDUCING).decisions)
    in_one = deeds(cluster.cycle(conf, NO_SHORTCUT, registry=SAYING_BOTH_IN_ONE).decisions)
    assert quick == slow == in_one
