"""The craft: what to prefer. One file, one opinion; what opinions have in common stands beside them."""

from __future__ import annotations

from hekla.framework.plugin import Plugin
from hekla.plugins.binpack import Binpack
from hekla.plugins.conformance import Conformance
from hekla.plugins.drf import Drf
from hekla.plugins.gang import Gang
from hekla.plugins.network_topology_aware import NetworkTopologyAware
from hekla.plugins.nodeorder import NodeOrder
from hekla.plugins.overcommit import Overcommit
from hekla.plugins.predicates import Predicates
from hekla.plugins.priority import Priority
from hekla.plugins.proportion import Proportion

BUILTIN_PLUGINS: dict[str, type[Plugin]] = {
    plugin.name: plugin
    for plugin in (
        Binpack,
        Conformance,
        Drf,
        Gang,
        NetworkTopologyAware,
        NodeOrder,
        Overcommit,
        Predicates,
        Priority,
        Proportion,
    )
}
