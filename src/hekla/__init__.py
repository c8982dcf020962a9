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
import sys

from hekla.moved import MovedFinder

__version__ = "0.1.0"

_HOME = {
    "Action": "hekla.engine.framework.action",
    "Bind": "hekla.engine.framework.decisions",
    "Comparison": "hekla.insight.compare",
    "Conf": "hekla.conf",
    "EmbeddedCluster": "hekla.cluster.embedded",
    "Evict": "hekla.engine.framework.decisions",
    "Forecast": "hekla.insight.forecast",
    "HeklaError": "hekla.errors",
    "Loop": "hekla.scheduler.loop",
    "PRESETS": "hekla.conf",
    "Plan": "hekla.insight.plan",
    "Plugin": "hekla.engine.framework.plugin",
    "Registry": "hekla.engine.framework.registry",
    "Role": "hekla.simulation.workloads",
    "Run": "hekla.simulation.run",
    "Scope": "hekla.engine.framework.points",
    "Session": "hekla.engine.framework.session",
    "Settings": "hekla.simulation.workloads.generator_form",
    "Submission": "hekla.simulation.workloads",
    "VirtualClock": "hekla.clock",
    "Vote": "hekla.engine.framework.rules",
    "WallClock": "hekla.clock",
    "Workload": "hekla.simulation.workloads",
    "answers": "hekla.engine.framework.points",
    "argument": "hekla.conf",
    "capacity": "hekla.api",
    "compare": "hekla.api",
    "explain": "hekla.engine.explain.explanation",
    "forecast": "hekla.api",
    "frame": "hekla.api",
    "generate": "hekla.simulation.workloads.generate",
    "nodes_of": "hekla.simulation.workloads.nodes",
    "plan": "hekla.api",
    "read_conf": "hekla.conf",
    "read_manifests": "hekla.objects.read",
    "read_workload": "hekla.simulation.workloads",
    "replay": "hekla.api",
    "require": "hekla.conf",
    "rows": "hekla.api",
    "run_cycle": "hekla.scheduler.cycle",
    "save": "hekla.simulation.measures",
    "simulate": "hekla.api",
    "summarize": "hekla.simulation.measures",
    "take_snapshot": "hekla.engine.state.snapshot",
    "write_report": "hekla.simulation.report",
}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - made when first used

sys.meta_path.append(MovedFinder())


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f'module "hekla" has no attribute "{name}"')
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
