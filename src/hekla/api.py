"""The functions for scripts and notebooks: simulate, compare, capacity, plan, forecast, replay.

Each takes what is at hand, be it a path, a text or an object, and gives back typed results, which `rows` and
`frame` turn into plain records and data frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from hekla.conf import BUILT_IN_DEFAULT, PRESETS, Conf, read_conf, require
from hekla.engine.framework.registry import Registry
from hekla.errors import InputError
from hekla.insight.capacity import CapacityAnswer, Sizing, read_goal, read_nodes, read_quota, size_rows
from hekla.insight.capacity import capacity as capacity_of
from hekla.insight.capacity.sizing import with_default_queue
from hekla.insight.compare import ComparedConf, Comparison, names_of, numbered
from hekla.insight.compare import compare as compare_confs
from hekla.insight.forecast import Forecast, Past, Sampling
from hekla.insight.forecast import forecast as forecast_starts
from hekla.insight.plan import Plan
from hekla.insight.plan import plan as plan_jobs
from hekla.insight.replay import Recording, Replayed
from hekla.insight.replay import replay as replay_recording
from hekla.objects import Manifest, Node
from hekla.objects.complaint import known_ones
from hekla.objects.read import read_manifests
from hekla.scheduler.builtin import BUILTIN
from hekla.simulation.measures.files import frame as frame_of_columns
from hekla.simulation.measures.files import frame_of
from hekla.simulation.measures.records import (
    Columns,
    job_columns,
    pod_run_columns,
    queue_columns,
    records,
    series_columns,
    use_columns,
)
from hekla.simulation.options import SimulationOptions
from hekla.simulation.run import Run
from hekla.simulation.simulate import simulate as simulate_workload
from hekla.simulation.workloads import Workload, read_workload
from hekla.simulation.workloads.generate import generate
from hekla.simulation.workloads.generator_form import Settings
from hekla.simulation.workloads.nodes import nodes_of

if TYPE_CHECKING:
    import polars as pl

AnyConf = Conf | str | Path | None
"""A configuration, the name of a preset, a file, or the text itself; none is the built-in default."""
AnyWorkload = Workload | Settings | str | Path
"""A workload, settings to make one up, or a file."""
AnyNodes = str | Path | Sequence[Node]
"""Nodes in a few words ("10 x cpu=32,memory=128Gi"), a file, or the manifests."""
AnyObjects = str | Path | Iterable[Manifest]
"""Manifests, or where to read them."""
UNNAMED = "configuration"
"""What a configuration is called that is no file and no preset."""
Plugins = Iterable[type | str]
"""Classes of plugins and actions, or references to them: `module:Class`, `file.py:Class`."""


def simulate(
    workload: AnyWorkload,
    conf: AnyConf = None,
    *,
    nodes: AnyNodes = (),
    plugins: Plugins = (),
    seed: int = 0,
    until: float = math.inf,
    options: SimulationOptions | None = None,
    name: str = "",
) -> Run:
    """What becomes of the workload in virtual time, until that many simulated seconds at most.

    `name` is what the configuration is called in reports; else it is the name of its file or preset.
    """
    registry = registry_with(plugins)
    there = _nodes(nodes)
    return simulate_workload(
        _workload(workload, there, seed),
        conf_of(conf, registry),
        nodes=there,
        registry=registry,
        seed=seed,
        options=_limited(options or SimulationOptions(), until),
        conf_name=name or _name_of(conf),
    )


def compare(
    workload: AnyWorkload,
    confs: Mapping[str, AnyConf] | Sequence[AnyConf],
    *,
    nodes: AnyNodes = (),
    plugins: Plugins = (),
    seeds: int = 1,
    processes: int = 1,
    options: SimulationOptions | None = None,
) -> Comparison:
    """The same arrivals under each configuration, the first being the base; each seed makes up new work.

    Configurations without names of their own are called by their files and presets.
    """
    registry = registry_with(plugins)
    there = _nodes(nodes)
    given = workload
    made = (lambda seed: generate(given, seed, there)) if isinstance(given, Settings) else None
    return compare_confs(
        made or _workload(given, there, 0),
        [ComparedConf(name, conf_of(conf, registry), registry) for name, conf in _named(confs).items()],
        seeds=range(seeds),
        nodes=there,
        options=options,
        processes=processes,
    )


def capacity(
    workload: AnyWorkload,
    goals: str | Sequence[str],
    conf: AnyConf = None,
    *,
    nodes: AnyNodes = (),
    quota: str = "",
    plugins: Plugins = (),
    seeds: int = 5,
    processes: int = 1,
    **options: Any,
) -> CapacityAnswer:
    """The smallest number of nodes, or quota of a queue, with which the workload meets its goals.

    `nodes` holds the range ("4..64 x cpu=32,memory=128Gi"), or `quota` ("research capability gpu=8..64").
    """
    registry = registry_with(plugins)
    counted = None if quota else read_nodes([nodes] if isinstance(nodes, str | Path) else [])
    there = [] if counted else _nodes(nodes)
    workload_of = partial(_workload, workload, there)
    return capacity_of(
        workload_of,
        counted or _quota(quota, workload_of(0), there),
        [read_goal(text) for text in ([goals] if isinstance(goals, str) else goals)],
        conf_of(conf, registry),
        registry=registry,
        seeds=range(seeds),
        processes=processes,
        **options,
    )


def plan(
    job: AnyObjects, state: AnyObjects, conf: AnyConf = None, *, plugins: Plugins = (), **options: Any
) -> list[Plan]:
    """Whether each of these jobs would start now, and what would have to change; nothing is touched."""
    registry = registry_with(plugins)
    chosen = conf_of(conf, registry)
    return Plans(plan_jobs(_objects(state), _objects(job), chosen, registry=registry, **options))


class Plans(list[Plan]):
    """One for each job, which notebooks show one below the other."""

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self)


def forecast(
    state: AnyObjects,
    conf: AnyConf = None,
    *,
    history: Sequence[Past] = (),
    samples: int = 100,
    seed: int = 0,
    plugins: Plugins = (),
    rolls: int | None = None,
    **options: Any,
) -> Forecast:
    """When each job that waits in this state will start; `rolls` is an older name of `samples`."""
    registry = registry_with(plugins)
    return forecast_starts(
        _objects(state),
        conf_of(conf, registry),
        history=history,
        sampling=Sampling(rolls=samples if rolls is None else rolls, seed=seed),
        registry=registry,
        **options,
    )


def replay(file: str | Path, conf: AnyConf = None, *, plugins: Plugins = ()) -> list[Replayed]:
    """Every recorded cycle decided again, under its own configuration or another one."""
    registry = registry_with(plugins)
    other = None if conf is None else conf_of(conf, registry)
    return list(replay_recording(Recording(Path(file)), registry, other))


def rows(
    result: Run | Comparison | CapacityAnswer | Forecast | Sequence[Plan], of: str = ""
) -> list[dict[str, Any]]:
    """The result as plain records: one per job, difference, size, pending job or plan.

    Of a run there is more, `of` which is one of "jobs", "pod_runs" (each time that a pod spent on a node),
    "queues", "series" (jobs and shares over time, by queue) and "use" (resources over time, by queue).
    """
    if isinstance(result, Run):
        return records(_columns(result, of))
    if of:
        raise InputError(f'only of a run there is more than one table; got of="{of}"')
    match result:
        case CapacityAnswer():
            return size_rows(result)
        case Comparison():
            return [
                {"configuration": against.name, **difference.as_data()}
                for against in result.against
                for difference in against.differences
            ]
        case Forecast():
            return [start.as_data(result.now) for start in result.starts]
    return [one.as_data() for one in result]


def frame(
    result: Run | Comparison | CapacityAnswer | Forecast | Sequence[Plan], of: str = ""
) -> pl.DataFrame:
    """The same as a data frame."""
    return frame_of_columns(_columns(result, of)) if isinstance(result, Run) else frame_of(rows(result, of))


TABLES: dict[str, Callable[[Run], Columns]] = {
    "jobs": job_columns,
    "pod_runs": pod_run_columns,
    "queues": queue_columns,
    "series": series_columns,
    "use": use_columns,
}
"""What there is of a run."""


def _columns(run: Run, of: str) -> Columns:
    if of and of not in TABLES:
        raise InputError(f'no table "{of}" of a run{known_ones(of, TABLES, "tables")}')
    return TABLES[of or "jobs"](run)


def registry_with(plugins: Plugins) -> Registry:
    """Everything built in and installed, and these."""
    registry = BUILTIN.with_installed()
    for one in plugins:
        registry = registry.with_named(one) if isinstance(one, str) else registry.with_class(one)
    return registry


def conf_of(conf: AnyConf, registry: Registry = BUILTIN) -> Conf:
    """The configuration that is meant; mistakes that Volcano runs on with are let pass."""
    if isinstance(conf, Conf):
        return conf
    text, source = _conf_text(conf)
    return require(read_conf(text, source, registry.catalogue()), strict=False)


def _conf_text(conf: str | Path | None) -> tuple[str, str]:
    if conf is None:
        return BUILT_IN_DEFAULT, "default"
    if isinstance(conf, str) and conf in PRESETS:
        return PRESETS[conf].text, conf
    if isinstance(conf, str) and "\n" in conf:
        return conf, "configuration"
    try:
        return Path(conf).read_text("utf-8"), str(conf)
    except OSError as error:
        known = ", ".join(sorted(PRESETS))
        raise InputError(f'cannot read "{conf}": {error.strerror}; presets are: {known}') from error


def _named(confs: Mapping[str, AnyConf] | Sequence[AnyConf]) -> Mapping[str, AnyConf]:
    """By the names given, else by file or preset, with folders or numbers where two are called the same."""
    if isinstance(confs, Mapping):
        return confs
    files = [Path(conf) for conf in confs if _is_file(conf)]
    name_of_file = dict(zip(map(str, files), names_of(files), strict=True))
    names = [name_of_file.get(str(conf), "") or _name_of(conf) for conf in confs]
    return dict(zip(numbered(names), confs, strict=True))


def _name_of(conf: AnyConf) -> str:
    """That of its file or preset; one that was made by hand has none of its own."""
    if conf is None:
        return "default"
    if _is_file(conf):
        return Path(conf).name
    if isinstance(conf, str) and conf in PRESETS:
        return conf
    return next((name for name, preset in PRESETS.items() if conf in (preset.text, conf_of(name))), UNNAMED)


def _is_file(conf: AnyConf) -> TypeGuard[str | Path]:
    return isinstance(conf, Path) or (isinstance(conf, str) and "\n" not in conf and conf not in PRESETS)


def _workload(workload: AnyWorkload, nodes: Sequence[Node], seed: int) -> Workload:
    if isinstance(workload, Workload):
        return workload
    if isinstance(workload, Settings):
        return generate(workload, seed, nodes)
    return read_workload(workload, nodes=nodes, seed=seed)


def _quota(quota: str, workload: Workload, nodes: Sequence[Node]) -> Sizing:
    if not quota:
        raise InputError('say what to look for: nodes="4..64 x cpu=32", or quota="research weight 1..10"')
    return read_quota(quota, with_default_queue(workload), nodes)


def _limited(options: SimulationOptions, until: float) -> SimulationOptions:
    """What is named twice ends at the earlier moment."""
    return replace(options, until=min(options.until, until))


def _nodes(nodes: AnyNodes) -> list[Node]:
    return nodes_of(nodes) if isinstance(nodes, str | Path) else list(nodes)


def _objects(objects: AnyObjects) -> list[Manifest]:
    """All of them; one that cannot be read is an error here, where a warning would not be seen."""
    if not isinstance(objects, str | Path):
        return list(objects)
    if not Path(objects).exists():
        raise InputError(f'no file or folder "{objects}"')
    reading = read_manifests([objects])
    if reading.complaints:
        raise InputError(str(reading.complaints[0]))
    return reading.objects
