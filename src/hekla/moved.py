"""Modules that have moved: an import by an old name fails with a sentence that says where it is now."""

from __future__ import annotations

MOVED = {
    "hekla.actions": "hekla.engine.actions",
    "hekla.comparison": "hekla.insight.compare",
    "hekla.deploy": "hekla.server.deploy",
    "hekla.forecasting": "hekla.insight.forecast",
    "hekla.framework": "hekla.engine.framework",
    "hekla.kube": "hekla.cluster.kubernetes.api",
    "hekla.ledger": "hekla.engine.ledger",
    "hekla.measures": "hekla.simulation.measures",
    "hekla.metrics": "hekla.scheduler.load",
    "hekla.model": "hekla.engine.model",
    "hekla.planning": "hekla.insight.plan",
    "hekla.plugins": "hekla.engine.plugins",
    "hekla.report": "hekla.simulation.report",
    "hekla.serve": "hekla.server",
    "hekla.shadow": "hekla.insight.shadow",
    "hekla.sim": "hekla.simulation",
    "hekla.state": "hekla.engine.state",
    "hekla.timetravel": "hekla.insight.replay and hekla.server.recording",
    "hekla.workloads": "hekla.simulation.workloads",
}
"""Old packages to new ones."""

FOR_PLUGINS = ("hekla.framework", "hekla.ledger", "hekla.model")
"""What plugins and actions used to import; `hekla.plugin` has it all."""


class MovedFinder:
    """Stands at the end of `sys.meta_path`: it is asked where no other finder knows a module."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name in MOVED:
            # Without the name as an attribute: `from hekla import framework` would swallow the sentence.
            raise ModuleNotFoundError(sentence(name))


def sentence(name: str) -> str:
    """Where the old package is now."""
    moved = f"{name} has moved to {MOVED[name]}"
    return (
        f"{moved}; plugins and actions import what they need from hekla.plugin"
        if name in FOR_PLUGINS
        else moved
    )
