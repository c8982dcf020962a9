"""What to prefer: a plugin is a module, one with helpers a folder; what plugins share is beside them."""

from __future__ import annotations

from hekla.engine.framework.plugin import Plugin
from hekla.engine.plugins.binpack import Binpack
from hekla.engine.plugins.capacity import Capacity
from hekla.engine.plugins.cdp import Cdp
from hekla.engine.plugins.conformance import Conformance
from hekla.engine.plugins.deviceshare import DeviceShare
from hekla.engine.plugins.drf import Drf
from hekla.engine.plugins.extender import Extender
from hekla.engine.plugins.gang import Gang
from hekla.engine.plugins.network_topology_aware import NetworkTopologyAware
from hekla.engine.plugins.nodegroup import NodeGroup
from hekla.engine.plugins.nodeorder import NodeOrder
from hekla.engine.plugins.numaaware import NumaAware
from hekla.engine.plugins.overcommit import Overcommit
from hekla.engine.plugins.pdb import Pdb
from hekla.engine.plugins.predicates import Predicates
from hekla.engine.plugins.priority import Priority
from hekla.engine.plugins.proportion import Proportion
from hekla.engine.plugins.rescheduling import Rescheduling
from hekla.engine.plugins.resource_strategy_fit import ResourceStrategyFit
from hekla.engine.plugins.resourcequota import ResourceQuotas
from hekla.engine.plugins.sla import Sla
from hekla.engine.plugins.task_topology import TaskTopology
from hekla.engine.plugins.tdm import Tdm
from hekla.engine.plugins.usage import Usage

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
