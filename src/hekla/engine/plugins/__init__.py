"""What to prefer: a plugin is a module, one with helpers a folder; what plugins share is beside them."""

from __future__ import annotations

from collections.abc import Mapping

from hekla.engine.framework.plugin import Plugin
from hekla.lazy import lazily_imported

BUILTIN_PLUGINS: Mapping[str, type[Plugin]] = lazily_imported(
    __name__,
    {
        "binpack": "binpack:Binpack",
        "capacity": "capacity:Capacity",
        "cdp": "cdp:Cdp",
        "conformance": "conformance:Conformance",
        "deviceshare": "deviceshare:DeviceShare",
        "drf": "drf:Drf",
        "extender": "extender:Extender",
        "gang": "gang:Gang",
        "network-topology-aware": "network_topology_aware:NetworkTopologyAware",
        "nodegroup": "nodegroup:NodeGroup",
        "nodeorder": "nodeorder:NodeOrder",
        "numa-aware": "numaaware:NumaAware",
        "overcommit": "overcommit:Overcommit",
        "pdb": "pdb:Pdb",
        "predicates": "predicates:Predicates",
        "priority": "priority:Priority",
        "proportion": "proportion:Proportion",
        "rescheduling": "rescheduling:Rescheduling",
        "resource-strategy-fit": "resource_strategy_fit:ResourceStrategyFit",
        "resourcequota": "resourcequota:ResourceQuotas",
        "sla": "sla:Sla",
        "task-topology": "task_topology:TaskTopology",
        "tdm": "tdm:Tdm",
        "usage": "usage:Usage",
    },
)
