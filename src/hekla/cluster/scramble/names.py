"""Names: what everything is called in the scrambled cluster, and what keeps its name.

Names of one sort of thing are renamed together, wherever they stand: in a field, in the value of a label, in
an annotation. Well-known keys and words of the configuration stay, for other objects refer to them.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np

from hekla.engine.model.task import pod_index
from hekla.objects import Manifest, Node, Pod, PodGroup, keys

WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_/-]*")
PLAIN = re.compile(r"true|false|\*", re.IGNORECASE)
"""Values that are no names."""
NUMBER = re.compile(r"[0-9]{1,18}")

WELL_KNOWN = ("kubernetes.io", "k8s.io", "volcano.sh", "nvidia.com", "hekla.dev")
KEPT = {
    "namespace": {"default", "kube-system"},
    "queue": {"default", "root"},
    "class": {"system-cluster-critical", "system-node-critical"},
    "gate": {keys.QUEUE_ALLOCATION_GATE},
    "driver": {"kubernetes.io/no-provisioner"},
    "address": {"0.0.0.0", "127.0.0.1", "::"},  # noqa: S104 - nothing listens here
}
NAMED_BY_LABEL = {
    "kubernetes.io/hostname": "node",
    "metadata.name": "node",
    "kubernetes.io/metadata.name": "namespace",
    keys.GROUP_NAME: "group",
    keys.ALTERNATIVE_GROUP_NAME: "group",
    keys.QUEUE_OF_POD: "queue",
    keys.JOB_NAME: "owner",
    keys.JOB_NAMESPACE: "namespace",
    keys.QUEUE_NAME: "queue",
    keys.TASK_SPEC: "role",
    keys.NODE_GROUP: "value",
    keys.REVOCABLE_ZONE: "value",
    keys.STORAGE_CLASS: "storage",
    keys.SELECTED_NODE: "node",
}
"""Labels and annotations of well-known keys whose values are names, and of what."""

AS_THEY_ARE = frozenset(
    {
        keys.CPU_USAGE,
        keys.EVICTION_REFUSED,
        keys.EXIT_CODE,
        keys.MEMORY_USAGE,
        keys.RUN_SECONDS,
        keys.USAGE_AT,
        keys.AVOID_GPU_TYPE,
        keys.USE_GPU_TYPE,
        "pv.kubernetes.io/bind-completed",
        keys.QUEUE_ALLOCATION_GATE,
        keys.WAITING_TIME,
        keys.COOLDOWN_TIME,
        keys.GPU_INDEX,
        keys.GPU_UNHEALTHY,
        keys.HIERARCHY_WEIGHTS,
        keys.BUDGET_MAX_UNAVAILABLE,
        keys.BUDGET_MIN_AVAILABLE,
        keys.VGPU_REGISTER,
        keys.NUMA_POLICY,
        keys.OVERSUBSCRIBED_CPU,
        keys.OVERSUBSCRIBED_MEMORY,
        keys.PREEMPTABLE,
        keys.STRATEGY_TYPE,
        keys.STRATEGY_WEIGHT,
        keys.TASK_PRIORITY,
        keys.VGPU_HELD,
        keys.VGPU_MODE,
        keys.AVOID_GPU_UUID,
        keys.VGPU_GROUP_POLICY,
        keys.USE_GPU_UUID,
    }
)
"""Labels and annotations whose values are numbers, settings or devices."""

ROLE_LISTS = frozenset(
    {
        keys.ROLE_AFFINITY,
        keys.ROLE_ANTI_AFFINITY,
        keys.ROLE_ORDER,
    }
)

LARGEST_GAP = 9


class ScrambledNames:
    """Other names for what is in the objects given; until they are settled, names are only heard of."""

    def __init__(
        self, manifests: Iterable[Manifest], seed: int, *, conf: str = "", compared: Collection[str] = ()
    ) -> None:
        manifests = list(manifests)
        in_conf = frozenset(WORD.findall(conf)) | frozenset(
            part for word in WORD.findall(conf) for part in word.split("/")
        )
        self._node_names = [found.metadata.name for found in manifests if isinstance(found, Node)]
        self._ephemeral = dict(_ephemeral_claims(manifests))
        words = dict.fromkeys(("namespace", "node", "queue", "role", "value", "key"), in_conf)
        kept = {what: {*words.get(what, ()), *KEPT.get(what, ())} for what in {*words, *KEPT}}
        self._pseudonyms = Pseudonyms(seed, kept)
        self._indexed = {
            key for found in manifests if isinstance(found, PodGroup) for key in _index_keys(found)
        }
        """Labels whose numbers count the parts of a job: they tell nothing, and their places matter."""
        self._compared = compared
        """Labels whose numbers are compared: other numbers take their places, in the same order."""

    def settle(self) -> None:
        """All names have been heard: choose the pseudonyms."""
        # A namespace is always followed by a slash where it is sorted by.
        self._pseudonyms.settle({"namespace": lambda name: f"{name}/"}, {"number": int})

    def of(self, what: str, name: str) -> str:
        """What the thing of that name is called now."""
        if what == "pod":
            index = pod_index(name)
            return self._pseudonyms.of(what, name, "" if index is None else f"-{index}")
        if what == "claim" and name in self._ephemeral:
            pod, volume = self._ephemeral[name]
            return f"{self.of('pod', pod)}-{self.of('volume', volume)}"
        return self._pseudonyms.of(what, name)

    def key(self, key: str) -> str:
        """The name of a label or a taint; well-known ones stay."""
        domain = key.partition("/")[0]
        if any(domain == known or domain.endswith(f".{known}") for known in WELL_KNOWN):
            return key
        return self.of("key", key)

    def value(self, key: str, value: str) -> str:
        """What the label of that key is worth now."""
        if key in AS_THEY_ARE or PLAIN.fullmatch(value):
            return value
        if NUMBER.fullmatch(value) and key in self._indexed:
            return value
        what = "number" if NUMBER.fullmatch(value) and key in self._compared else "value"
        return self.of(NAMED_BY_LABEL.get(key, what), value)

    def annotations(self, given: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for key, text in given.items():
            if key in AS_THEY_ARE:
                found[key] = text
            elif key in NAMED_BY_LABEL:
                found[key] = self.value(key, text)
            elif key in ROLE_LISTS:
                found[key] = re.sub(r"[^,;\s]+", lambda role: self.of("role", role.group()), text)
            elif key == keys.HIERARCHY:
                found[key] = "/".join(self.of("queue", part) for part in text.split("/"))
            elif key == keys.NODE_GROUP_LIMITS:
                found[key] = self._limits(text)
        return found

    def _limits(self, text: str) -> str:
        try:
            limits = json.loads(text)
        except ValueError:
            return "{"
        if not isinstance(limits, dict):
            return "0"
        return json.dumps({self.of("value", group): amounts for group, amounts in limits.items()})

    def nodes_matching(self, pattern: str) -> list[str]:
        """The nodes that a regular expression in a HyperNode means."""
        import re2  # noqa: PLC0415 - only clusters with such members need it

        options = re2.Options()
        options.log_errors = False
        try:
            compiled = re2.compile(pattern, options)
        except re2.error:
            return []
        return [name for name in self._node_names if compiled.search(name) is not None]


def _index_keys(group: PodGroup) -> Iterable[str]:
    return (key for policy in group.spec.sub_group_policy for key in policy.match_label_keys[:1])


def _ephemeral_claims(manifests: Iterable[Manifest]) -> Iterable[tuple[str, tuple[str, str]]]:
    """Claims that are named after a pod and one of its volumes."""
    for pod in manifests:
        if isinstance(pod, Pod):
            for volume in pod.spec.volumes:
                if volume.ephemeral is not None:
                    name = pod.metadata.name
                    yield f"{name}-{volume.name}", (name, volume.name)


class Pseudonyms:
    """Names are announced first; once `settle` is called, each has its pseudonym.

    Names are kept apart by what they are names of. `kept` says by that word which names stay as they are.
    """

    def __init__(self, seed: int, kept: Mapping[str, Collection[str]]) -> None:
        self._dice = np.random.default_rng(seed)
        self._kept = kept
        self._announced: dict[str, dict[str, str]] = {}
        self._chosen: dict[str, dict[str, str]] = {}
        self._is_settled = False

    def of(self, what: str, name: str, ending: str = "") -> str:
        """The pseudonym, with an ending that is to stay; before they are settled, the name itself."""
        if not name or name in self._kept.get(what, ()):
            return name
        if not self._is_settled:
            self._announced.setdefault(what, {})[name] = ending
            return name
        return self._chosen[what][name]

    def settle(
        self,
        order: Mapping[str, Callable[[str], str]] | None = None,
        values: Mapping[str, Callable[[str], int]] | None = None,
    ) -> None:
        """Choose them all; `order` says by what the names of a kind are sorted, if not by themselves.

        ScrambledNames that `values` speaks of are numbers, and so are their pseudonyms.
        """
        for what, names in sorted(self._announced.items()):
            if values and what in values:
                by_value = sorted(names, key=values[what])
                self._chosen[what] = dict(zip(by_value, map(str, self._numbers(len(names))), strict=True))
            else:
                self._chosen[what] = self._choose(what, names, (order or {}).get(what, str))
        self._is_settled = True

    def _numbers(self, count: int) -> list[int]:
        """So many in order, with gaps that hide how many names there are and which come next."""
        found: list[int] = np.cumsum(self._dice.integers(1, LARGEST_GAP, count, endpoint=True)).tolist()
        return found

    def _choose(self, what: str, ending_of: Mapping[str, str], by: Callable[[str], str]) -> dict[str, str]:
        names = sorted(ending_of, key=by)
        numbers = self._numbers(len(names))
        width = len(str(LARGEST_GAP * len(names)))
        milestones = sorted(self._kept.get(what, ()), key=by)
        chosen = {}
        for name, number in zip(names, numbers, strict=True):
            at = bisect(milestones, by(name), key=by)
            after, before = milestones[max(at - 1, 0) : at], milestones[at : at + 1]
            ending = ending_of[name]
            candidates = [f"{what}-", f"a-{what}-", f"0-{what}-", *(f"{stone}-{what}-" for stone in after)]
            chosen[name] = _fitting(candidates, f"{number:0{width}}{ending}", after, before, by)
        return chosen


def _fitting(
    prefixes: list[str], rest: str, after: list[str], before: list[str], by: Callable[[str], str]
) -> str:
    """The first prefix with which the pseudonym stands between the names that are kept."""
    for prefix in prefixes:
        candidate = prefix + rest
        if all(by(stone) < by(candidate) for stone in after) and all(
            by(candidate) < by(stone) for stone in before
        ):
            return candidate
    return prefixes[0] + rest
