"""hekla: a batch scheduler for AI and HPC clusters.

    from hekla import read_conf, run_cycle, take_snapshot

    conf, mistakes = read_conf(text)
    report = run_cycle(take_snapshot(objects), conf)
    report.decisions                       # binds, evictions, status updates

The names below are the public surface; they are imported when first used, so that importing
`hekla` itself costs nothing.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_HOME = {
    "Action": "hekla.framework.action",
    "Bind": "hekla.framework.decisions",
    "Conf": "hekla.conf",
    "EmbeddedCluster": "hekla.cluster.embedded",
    "Evict": "hekla.framework.decisions",
    "HeklaError": "hekla.errors",
    "Loop": "hekla.scheduler.loop",
    "PRESETS": "hekla.conf",
    "Plugin": "hekla.framework.plugin",
    "Registry": "hekla.framework.registry",
    "Scope": "hekla.framework.points",
    "Session": "hekla.framework.session",
    "VirtualClock": "hekla.clock",
    "Vote": "hekla.framework.points",
    "WallClock": "hekla.clock",
    "answers": "hekla.framework.points",
    "argument": "hekla.conf",
    "explain": "hekla.framework.explain",
    "read_conf": "hekla.conf",
    "read_manifests": "hekla.objects.read",
    "require": "hekla.conf",
    "run_cycle": "hekla.scheduler.cycle",
    "take_snapshot": "hekla.state.snapshot",
}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - made when first used


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f'module "hekla" has no attribute "{name}"')
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
