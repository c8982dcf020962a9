"""Arrivals: jobs that may still come; without any, a forecast takes the present for all there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import msgspec
import numpy as np

from hekla.insight.forecast.run_times import Prospect
from hekla.insight.forecast.standing import Standing, StandingJob, group_key
from hekla.objects import Pod
from hekla.objects.batch import PodTemplate
from hekla.simulation.workloads import Role, Submission
from hekla.simulation.workloads.manifests import template_of

HOUR = 3600.0


class Arrivals(Protocol):
    """Who may come later, differently in every roll."""

    @property
    def are_random(self) -> bool: ...

    def submissions(self, chance: np.random.Generator) -> Iterator[Submission]: ...


@dataclass(frozen=True)
class NoArrivals:
    """Nobody comes."""

    are_random: bool = False

    def submissions(self, chance: np.random.Generator) -> Iterator[Submission]:  # noqa: ARG002
        return iter(())


@dataclass(frozen=True)
class WrittenArrivals:
    """The same jobs in every roll, at their times from now on.

    They may be called like jobs that are there, or like each other: each gets a name of its own.
    """

    jobs: tuple[Submission, ...]
    are_random: bool = False

    def submissions(self, chance: np.random.Generator) -> Iterator[Submission]:  # noqa: ARG002
        return iter(self._renamed)

    @cached_property
    def _renamed(self) -> tuple[Submission, ...]:
        names = [later(number, job.name) for number, job in enumerate(self.jobs, 1)]
        # Who comes after another comes after the last one of that name so far; else the first one to come.
        keys: dict[str, str] = {}
        for job, name in zip(self.jobs, names, strict=True):
            keys.setdefault(job.key, f"{job.namespace}/{name}")
        renamed = []
        for job, name in zip(self.jobs, names, strict=True):
            renamed.append(replace(job, name=name, after=keys.get(job.after, job.after)))
            keys[job.key] = f"{job.namespace}/{name}"
        return tuple(renamed)


def later(number: int, name: str = "") -> str:
    """The name of a job that comes later; no name in a cluster may contain such a line."""
    return f"later_{number}_{name}" if name else f"later_{number}"


@dataclass(frozen=True)
class SteadyArrivals:
    """Jobs like those that are there, at a rate, each as likely as any other."""

    per_hour: float
    kinds: tuple[tuple[Submission, Prospect], ...]
    are_random: bool = True

    def submissions(self, chance: np.random.Generator) -> Iterator[Submission]:
        now, number = 0.0, 0
        while self.kinds and self.per_hour > 0:
            now += float(chance.exponential(HOUR / self.per_hour))
            number += 1
            kind, prospect = self.kinds[chance.integers(len(self.kinds))]
            runs = prospect.draw(chance)
            yield replace(kind, name=later(number), submitted=now, run_seconds=runs)


def steady(
    standing: Standing,
    fresh: Mapping[str, Prospect],
    per_hour: float,
    hopeless: frozenset[str] = frozenset(),
) -> SteadyArrivals:
    """Arrivals that look like the jobs of the present; `fresh` is how long each runs in all.

    Those that can never start are not made more: they would only be waited for.
    """
    pods_of: dict[str, list[Pod]] = {}
    for each in standing.objects:
        if isinstance(each, Pod):
            pods_of.setdefault(group_key(each), []).append(each)
    kinds = tuple(
        (_kind_of(job, pods_of[job.key]), fresh[job.key]) for job in standing.jobs if job.key not in hopeless
    )
    return SteadyArrivals(per_hour, kinds)


def _kind_of(job: StandingJob, pods: Sequence[Pod]) -> Submission:
    """Pods that look alike are one role."""
    roles: dict[str, tuple[Pod, int]] = {}
    for pod in pods:
        look = repr((pod.spec.containers, pod.spec.node_selector, pod.spec.priority))
        first, count = roles.get(look, (pod, 0))
        roles[look] = (first, count + 1)
    return Submission(
        name="later",
        submitted=0.0,
        run_seconds=0.0,
        roles=tuple(
            Role(f"r{number}", count, _template(pod)) for number, (pod, count) in enumerate(roles.values())
        ),
        queue=job.queue,
        namespace=job.key.partition("/")[0],
        min_available=job.minimum,
        priority_class=pods[0].spec.priority_class_name,
    )


def _template(pod: Pod) -> PodTemplate:
    template = template_of(pod)
    return msgspec.structs.replace(template, spec=msgspec.structs.replace(template.spec, node_name=""))
