"""Cdp: a pod that has just started is left alone for its cooldown time."""

from __future__ import annotations

from collections.abc import Sequence

from hekla.engine.framework.plugin import Plugin, Resolve
from hekla.engine.framework.points import PREEMPTABLE, RECLAIMABLE, answers
from hekla.engine.model.task import Task
from hekla.errors import InputError
from hekla.objects import Pod, seconds
from hekla.objects.keys import COOLDOWN_TIME
from hekla.objects.quantity import read_seconds


class Cdp(Plugin):
    name = "cdp"
    acts_on_time = True
    resolve = Resolve.HARDENING

    @answers(PREEMPTABLE)
    @answers(RECLAIMABLE)
    def all_that_have_cooled_down(self, _initiator: Task, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if not is_cooling(task.pod, self.session.now)]


def is_cooling(pod: Pod, now: float) -> bool:
    """Runs, and was given its node less than its cooldown time ago."""
    cooldown = cooldown_of(pod)
    if cooldown is None or pod.status.phase != "Running":
        return False
    for condition in pod.status.conditions:
        if (condition.type, condition.status) == ("PodScheduled", "True"):
            return seconds(condition.last_transition_time) + cooldown > now
    return False


def cooldown_of(pod: Pod) -> float | None:
    """The pod's cooldown in seconds, from its label, else its annotation; None where that says none."""
    meta = pod.metadata
    text = meta.labels.get(COOLDOWN_TIME, meta.annotations.get(COOLDOWN_TIME))
    try:
        return None if text is None else read_seconds(text)
    except InputError:
        return None
