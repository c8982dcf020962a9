"""Node usage: how much of every node is taken, so that no bind overfills one."""

from __future__ import annotations

from collections.abc import Collection

from hekla.engine.model.node import node_of
from hekla.engine.model.requests import STORAGE, Find, VolumeRequests, demand_of, has_claims
from hekla.engine.model.resources import PODS, Resources, add
from hekla.errors import InputError
from hekla.objects import CSINode, Manifest, Node, Pod

FINISHED = ("Succeeded", "Failed")


def is_finished(pod: Pod) -> bool:
    return pod.status.phase in FINISHED


class NodeUsage:
    """The sum of requests on every node; follows the store, in which `find` looks objects up."""

    def __init__(self, find: Find, ignored_provisioners: Collection[str] = ()) -> None:
        self._find = find
        self._volumes = VolumeRequests(find, ignored_provisioners)
        self._used: dict[str, Resources] = {}
        self._offered: dict[str, Resources] = {}
        self._held: dict[str, tuple[Pod, Resources]] = {}
        """By key the pods that sit on a node, as they were counted."""

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        changed = after or before
        match changed:
            case Node():
                self._heed_node(before, after)
            case CSINode():
                node = self._find(Node, changed.metadata.name)
                self._heed_node(node, node)
            case Pod():
                self._heed_pod(changed.key, after)
            case _ if isinstance(changed, STORAGE):
                self._heed_storage(changed)

    def _heed_node(self, before: Manifest | None, after: Manifest | None) -> None:
        if before is not None:
            self._offered.pop(before.metadata.name, None)
        if isinstance(after, Node):
            try:
                csi_node = self._find(CSINode, after.metadata.name)
                self._offered[after.metadata.name] = node_of(after, csi_node).allocatable
            except InputError:
                # The snapshot leaves the node out and says why; nothing is bound to it meanwhile.
                self._offered[after.metadata.name] = {}

    def _heed_pod(self, key: str, after: Manifest | None) -> None:
        if key in self._held:
            counted, request = self._held.pop(key)
            self._book(counted.spec.node_name, request, -1)
        if isinstance(after, Pod) and after.spec.node_name and not is_finished(after):
            request = self._request_of(after)
            self._held[key] = (after, request)
            self._book(after.spec.node_name, request, 1)
        else:
            self._volumes.forget(key)

    def _heed_storage(self, changed: Manifest) -> None:
        for key in self._volumes.pods_of(type(changed), [changed.key]):
            if key in self._held:
                self._heed_pod(key, self._held[key][0])

    def _request_of(self, pod: Pod) -> Resources:
        attachments = self._volumes.request_of(pod) if has_claims(pod) else {}
        request = readable_request_of(pod)
        return add(request, attachments) if request and attachments else request

    def _book(self, node: str, request: Resources, sign: int) -> None:
        used = self._used.setdefault(node, {})
        for name, amount in request.items():
            used[name] = used.get(name, 0) + sign * amount
            if not used[name]:
                del used[name]
        if not used:
            del self._used[node]

    def used_by_node(self) -> dict[str, Resources]:
        """What is taken of every node; the audit compares it with its own sums."""
        return {node: dict(used) for node, used in self._used.items()}

    def shortage(self, pod: Pod, node: str) -> str:
        """The first resource that the node cannot give the pod, in words, or nothing."""
        offered, used = self._offered.get(node, {}), self._used.get(node, {})
        for name, amount in self._request_of(pod).items():
            # A node that names no number of pods takes any number.
            if amount == 0 or (name == PODS and PODS not in offered):
                continue
            free = offered.get(name, 0) - used.get(name, 0)
            if amount > free:
                return f"not enough {name} (asked {amount}, free {max(free, 0)})"
        return ""


def readable_request_of(pod: Pod) -> Resources:
    """What the pod asks for; a request that cannot be read has been complained of and counts as none."""
    try:
        return demand_of(pod)[0]
    except InputError:
        return {}
