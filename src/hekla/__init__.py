"""hekla: a batch scheduler for AI and HPC clusters.

    from hekla import read_conf, run_cycle, take_snapshot

    conf, mistakes = read_conf(text)
    report = run_cycle(take_snapshot(objects), conf)
    report.decisions                       # binds, evictions, status updates

    from hekla import frame, simulate

    frame(simulate("trace.swf", nodes="100 x cpu=32,memory=128Gi"))     # one row per job

The names below are the public surface; they are imported when first used, so that importing
`hekla` itself costs nothing.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_HOME = {
    "Action": "hekla.framework.action",
    "Bind": "hekla.framework.decisions",
    "Comparison": "hekla.insight.compare",
    "Conf": "hekla.conf",
    "EmbeddedCluster": "hekla.cluster.embedded",
    "Evict": "hekla.framework.decisions",
    "Forecast": "hekla.insight.forecast",
    "HeklaError": "hekla.errors",
    "Loop": "hekla.scheduler.loop",
    "PRESETS": "hekla.conf",
    "Plan": "hekla.insight.plan",
    "Plugin": "hekla.framework.plugin",
    "Registry": "hekla.framework.registry",
    "Role": "hekla.workloads",
    "Run": "hekla.sim.run",
    "Scope": "hekla.framework.points",
    "Session": "hekla.framework.session",
    "Settings": "hekla.workloads.settings",
    "Submission": "hekla.workloads",
    "VirtualClock": "hekla.clock",
    "Vote": "hekla.framework.points",
    "WallClock": "hekla.clock",
    "Workload": "hekla.workloads",
    "answers": "hekla.framework.points",
    "argument": "hekla.conf",
    "compare": "hekla.api",
    "explain": "hekla.framework.explain",
    "forecast": "hekla.api",
    "frame": "hekla.api",
    "generate": "hekla.workloads.generate",
    "nodes_of": "hekla.workloads.nodes",
    "plan": "hekla.api",
    "read_conf": "hekla.conf",
    "read_manifests": "hekla.objects.read",
    "read_workload": "hekla.workloads",
    "replay": "hekla.api",
    "require": "hekla.conf",
    "rows": "hekla.api",
    "run_cycle": "hekla.scheduler.cycle",
    "save": "hekla.measures",
    "simulate": "hekla.api",
    "summarize": "hekla.measures",
    "take_snapshot": "hekla.state.snapshot",
    "write_report": "hekla.report",
}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - made when first used


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f'module "hekla" has no attribute "{name}"')
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
