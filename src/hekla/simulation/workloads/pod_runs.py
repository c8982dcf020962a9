"""Pod runs: when a pod began and ended, as far as it tells, and which job and role it was a part of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite

import msgspec

from hekla.errors import InputError
from hekla.objects import Pod, PodGroup, keys, seconds
from hekla.simulation.workloads.fields import Spot
from hekla.simulation.workloads.manifests import DONE
from hekla.simulation.workloads.trace import as_name
from hekla.simulation.workloads.vcjobs import seconds_in

ALIKE = 1.01
"""Run times that differ by a hundredth are one: the longest."""
MILLISECONDS = 3
"""So many digits of times say something."""
STAMP_SECONDS = 2.0
"""So much they may differ anyway: time stamps are whole seconds."""


class PodRun(msgspec.Struct, frozen=True):
    """A pod, and from when to when it ran, in seconds since 1970; None: not yet, or not known."""

    pod: Pod
    began: float | None
    ended: float | None

    @property
    def span(self) -> float | None:
        if self.began is None or self.ended is None:
            return None
        return round(max(0.0, self.ended - self.began), MILLISECONDS)


def run_of(pod: Pod) -> PodRun:
    """The run of a pod as its status tells it."""
    status = pod.status
    states = [each.state.terminated for each in status.container_statuses if each.state.terminated]
    began = [moment for moment in (status.start_time, *(each.started_at for each in states)) if moment]
    ended = [each.finished_at for each in states if each.finished_at]
    if not ended:
        stamps = (each.last_transition_time for each in status.conditions)
        ended = [moment for moment in stamps if moment is not None]
    return PodRun(
        pod,
        seconds(min(began)) if began else None,
        seconds(max(ended)) if ended and status.phase in DONE else None,
    )


def stated_seconds(pod: Pod, group: PodGroup | None) -> float | None:
    """How long the pod says that it runs, or its group for it; none where neither does, or it has no end."""
    for manifest in (pod, group):
        notes = {} if manifest is None else manifest.metadata.annotations
        try:
            found = seconds_in(notes, keys.RUN_SECONDS, Spot(pod.key))
        except InputError:
            continue
        if found is not None:
            return found if isfinite(found) else None
    return None


def title_of(group: PodGroup, pod: Pod) -> str:
    """The Job, or the lone pod, that a PodGroup was made for; else the PodGroup itself."""
    namespace = pod.metadata.namespace
    if job := pod.metadata.annotations.get(keys.JOB_NAME):
        return f"{namespace}/{job}"
    made_for = group if group.metadata.name else pod
    owner = next((owner for owner in made_for.metadata.owner_references if owner.controller), None)
    return made_for.key if owner is None or not owner.name else f"{namespace}/{owner.name}"


def role_name(pod: Pod) -> str:
    return as_name(pod.metadata.annotations.get(keys.TASK_SPEC, ""), "worker")


def alike_spans(spans: Iterable[float]) -> Iterator[list[float]]:
    """The spans, those together that are as good as equal."""
    alike: list[float] = []
    for span in sorted(spans):
        if alike and span > alike[0] * ALIKE + STAMP_SECONDS:
            yield alike
            alike = []
        alike.append(span)
    yield alike
