"""The craft: what to prefer. One file, one opinion; what opinions have in common stands beside them."""

from __future__ import annotations

from hekla.framework.plugin import Plugin
from hekla.plugins.binpack import Binpack
from hekla.plugins.capacity import Capacity
from hekla.plugins.cdp import Cdp
from hekla.plugins.conformance import Conformance
from hekla.plugins.deviceshare import DeviceShare
from hekla.plugins.drf import Drf
from hekla.plugins.extender import Extender
from hekla.plugins.gang import Gang
from hekla.plugins.network_topology_aware import NetworkTopologyAware
from hekla.plugins.nodegroup import NodeGroup
from hekla.plugins.nodeorder import NodeOrder
from hekla.plugins.numaaware import NumaAware
from hekla.plugins.overcommit import Overcommit
from hekla.plugins.pdb import Pdb
from hekla.plugins.predicates import Predicates
from hekla.plugins.priority import Priority
from hekla.plugins.proportion import Proportion
from hekla.plugins.rescheduling import Rescheduling
from hekla.plugins.resource_strategy_fit import ResourceStrategyFit
from hekla.plugins.resourcequota import ResourceQuotas
from hekla.plugins.sla import Sla
from hekla.plugins.task_topology import TaskTopology
from hekla.plugins.tdm import Tdm
from hekla.plugins.usage import Usage

BUILTIN_PLUGINS: dict[str, type[Plugin]] = {
    plugin.name: plugin
    for plugin in (
        Binpack,
        Capacity,
        Cdp,
        Conformance,
        DeviceShare,
        Drf,
        Extender,
        Gang,
        NetworkTopologyAware,
        NodeGroup,
        NodeOrder,
        NumaAware,
        Overcommit,
        Pdb,
        Predicates,
        Priority,
        Proportion,
        Rescheduling,
        ResourceStrategyFit,
        ResourceQuotas,
        Sla,
        TaskTopology,
        Tdm,
        Usage,
    )
}
