"""Rooms: how much of every node is taken, so that no bind overfills one."""

from __future__ import annotations

from hekla.errors import InputError
from hekla.model.node import node_of
from hekla.model.requests import demand_of
from hekla.model.resources import PODS, Resources
from hekla.objects import Manifest, Node, Pod

FINISHED = ("Succeeded", "Failed")


def is_finished(pod: Pod) -> bool:
    return pod.status.phase in FINISHED


class Rooms:
    """The sum of requests on every node; follows the store."""

    def __init__(self) -> None:
        self._used: dict[str, Resources] = {}
        self._offered: dict[str, Resources] = {}
        self._held: dict[str, tuple[str, Resources]] = {}

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        if isinstance(before, Node) or isinstance(after, Node):
            self._heed_node(before, after)
        elif isinstance(before, Pod) or isinstance(after, Pod):
            self._heed_pod(before, after)

    def _heed_node(self, before: Manifest | None, after: Manifest | None) -> None:
        if before is not None:
            self._offered.pop(before.metadata.name, None)
        if isinstance(after, Node):
            try:
                self._offered[after.metadata.name] = node_of(after).allocatable
            except InputError:
                # The snapshot leaves the node out and says why; nothing is bound to it meanwhile.
                self._offered[after.metadata.name] = {}

    def _heed_pod(self, before: Manifest | None, after: Manifest | None) -> None:
        if before is not None:
            node, request = self._held.pop(before.metadata.uid, ("", {}))
            self._book(node, request, -1)
        if isinstance(after, Pod) and after.spec.node_name and not is_finished(after):
            request = readable_request_of(after)
            self._held[after.metadata.uid] = (after.spec.node_name, request)
            self._book(after.spec.node_name, request, 1)

    def _book(self, node: str, request: Resources, sign: int) -> None:
        used = self._used.setdefault(node, {})
        for name, amount in request.items():
            used[name] = used.get(name, 0) + sign * amount

    def used_by_node(self) -> dict[str, Resources]:
        """What is taken of every node; for whoever checks the books."""
        return {node: dict(used) for node, used in self._used.items()}

    def shortage(self, pod: Pod, node: str) -> str:
        """The first resource that the node cannot give the pod, in words, or nothing."""
        offered, used = self._offered.get(node, {}), self._used.get(node, {})
        for name, amount in readable_request_of(pod).items():
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
