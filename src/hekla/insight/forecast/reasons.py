"""Reasons: what each job waits for, in a few words, told by one cycle on the present state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hekla.cluster.embedded.queues import admitted
from hekla.conf import Conf
from hekla.framework.explain import explain, in_short
from hekla.framework.registry import Registry
from hekla.objects import Manifest, Queue
from hekla.scheduler.cycle import run_cycle
from hekla.sim.options import START
from hekla.state.snapshot import take_snapshot


def reasons_for(
    objects: Sequence[Manifest], keys: Iterable[str], conf: Conf, registry: Registry
) -> dict[str, str]:
    """By PodGroup, of those that are asked for."""
    queues = [each for each in objects if isinstance(each, Queue)]
    others = [each for each in objects if not isinstance(each, Queue)]
    there = admitted(queues, {}, is_strict=True).queues
    report = run_cycle(take_snapshot([*there, *others]), conf, registry=registry, now=START)
    jobs = report.session.jobs
    return {key: in_short(explain(report.session, jobs[key])) for key in keys if key in jobs}
