"""Class keys: numbers for tasks; those with equal ones get equal answers from every plugin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence

import msgspec

from hekla.engine.model.task import Task


class ClassKeys:
    """Makes the keys of tasks, and remembers them."""

    def __init__(self, label_keys: Sequence[str], distinguish: Sequence[Callable[[Task], Hashable]]) -> None:
        """Tasks that these labels or functions tell apart have different keys."""
        self._distinguish = distinguish
        self._label_keys = label_keys
        self._number_of: dict[Hashable, int] = {}
        self._key_of_task: dict[str, int] = {}
        self._latest_of_job: dict[str, Task] = {}

    def of(self, task: Task) -> int:
        """Equal for tasks that every plugin answers alike for."""
        key = self._key_of_task.get(task.uid)
        if key is None:
            # Tasks of a job mostly look the same.
            twin = self._latest_of_job.get(task.job)
            is_same = twin is not None and self._look_alike(twin, task)
            key = self._key_of_task[twin.uid] if is_same and twin is not None else self._make_key(task)
            self._key_of_task[task.uid] = key
            self._latest_of_job[task.job] = task
        return key

    def _look_alike(self, left: Task, right: Task) -> bool:
        if not self._distinguish and is_one_template(left, right):
            return True
        mine, theirs = left.pod.metadata, right.pod.metadata
        return (
            left.vector is right.vector
            and left.namespace == right.namespace
            and (left.pod.spec is right.pod.spec or left.pod.spec == right.pod.spec)
            and not left.pod.spec.volumes
            and not left.pod.spec.resource_claims
            and mine.owner_references[:1] == theirs.owner_references[:1]
            and all([mine.labels.get(key) == theirs.labels.get(key) for key in self._label_keys])
            and all([distinguish(left) == distinguish(right) for distinguish in self._distinguish])
        )

    def _make_key(self, task: Task) -> int:
        spec, labels = task.pod.spec, task.pod.metadata.labels
        shape = (
            {key: labels[key] for key in self._label_keys if key in labels},
            spec.containers,
            spec.init_containers,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            # Volumes and claims are a task's own: such tasks are never alike.
            task.uid if spec.volumes or spec.resource_claims else "",
            task.pod.metadata.owner_references[:1],
        )
        others = tuple([distinguish(task) for distinguish in self._distinguish])
        whole = (task.namespace, task.vector.tobytes(), task.asked, msgspec.msgpack.encode(shape), others)
        return self._number_of.setdefault(whole, len(self._number_of))


def is_one_template(left: Task, right: Task) -> bool:
    """Whether both were made from one, with nothing of their own beside a name."""
    spec = left.pod.spec
    is_plain = left.vector is right.vector and not spec.volumes and not spec.resource_claims
    return is_plain and left.template is right.template


def selected_labels(task: Task) -> Collection[str]:
    """Pod labels that the task's affinity or spreading looks at; no other label sets tasks apart."""
    spec = task.pod.spec
    if spec.affinity is None and not spec.topology_spread_constraints:
        return ()
    keys: set[str] = set()
    selectors = [c.label_selector for c in spec.topology_spread_constraints]
    for constraint in spec.topology_spread_constraints:
        keys.update(constraint.match_label_keys)
    for affinity in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity) if spec.affinity else ():
        terms = [*affinity.required, *(w.pod_affinity_term for w in affinity.preferred)] if affinity else []
        selectors += [term.label_selector for term in terms]
        for term in terms:
            keys.update((*term.match_label_keys, *term.mismatch_label_keys))
    for selector in selectors:
        if selector is not None:
            keys.update(selector.match_labels)
            keys.update(requirement.key for requirement in selector.match_expressions)
    return keys
