"""Pods that have run as templates: what mattered to the scheduler, without what belonged to one pod alone."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hekla.engine.model.requests import request_of
from hekla.engine.model.resources import CPU, MEMORY, PODS, as_quantities
from hekla.objects import Pod, Toleration
from hekla.objects.batch import PodTemplate
from hekla.objects.keys import TASK_SPEC, is_read
from hekla.objects.meta import Amount
from hekla.objects.pod import PodSpec
from hekla.simulation.workloads.manifests import ONE_POD_ONLY, template_of
from hekla.simulation.workloads.shapes import Choice, Requests, Shapes
from hekla.simulation.workloads.totals import written

_OF_ADMISSION = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Tolerated for a while by every pod of a cluster, unless it says otherwise."""

_USUAL_POLICY = "PreemptLowerPriority"


class PodLooks:
    """Gives pods that look alike one template."""

    def __init__(self, shapes: Shapes, pods: Iterable[Pod]) -> None:
        self._shapes = shapes
        self._keeps_labels = any(_looks_at_pods(pod.spec) for pod in pods)
        """Labels matter only where some pod looks at those of other pods."""

    def template(self, pod: Pod) -> PodTemplate:
        """What the pod asked for; in a few words where they say all of it."""
        spec = _at_rest(pod.spec)
        if self._keeps_labels or not _is_plain(pod, spec):
            return self._shapes.shared(template_of(replace(pod, spec=spec)))
        choice: Choice = tuple((label, (value,)) for label, value in spec.node_selector.items())
        return self._shapes.template(requests_in(pod), choice, spec.tolerations)


def requests_in(pod: Pod) -> Requests:
    """What the pod asks for in all, as it is written where it has one container."""
    if len(pod.spec.containers) == 1 and not pod.spec.init_containers and pod.spec.resources is None:
        asked = pod.spec.containers[0].resources.requests
        if not pod.spec.overhead:
            return tuple(asked.items())
    found = request_of(pod)
    amounts = as_quantities({name: amount for name, amount in found.items() if name != PODS})
    return tuple((name, _written(name, found[name], text)) for name, text in amounts.items())


def _written(name: str, amount: int, text: Amount) -> Amount:
    return written(name, amount) if name in (CPU, MEMORY) else text


def _at_rest(spec: PodSpec) -> PodSpec:
    """Without its node, its gates, and volumes and claims, which a simulation does not play."""
    return replace(
        spec,
        node_name="",
        scheduling_gates=(),
        volumes=(),
        resource_claims=(),
        priority=None,
        preemption_policy="" if spec.preemption_policy == _USUAL_POLICY else spec.preemption_policy,
        tolerations=tuple(each for each in spec.tolerations if not _is_of_admission(each)),
    )


def _is_of_admission(toleration: Toleration) -> bool:
    return toleration.key in _OF_ADMISSION and toleration.effect == "NoExecute"


def _is_plain(pod: Pod, spec: PodSpec) -> bool:
    """Whether requests, node selector and tolerations say all that a scheduler reads."""
    has_ports = any(port.host_port for container in spec.containers for port in container.ports)
    notes = {key for key in pod.metadata.annotations if is_read(key)} - ONE_POD_ONLY - {TASK_SPEC}
    return not (has_ports or notes or spec.affinity or spec.topology_spread_constraints)


def _looks_at_pods(spec: PodSpec) -> bool:
    affinity = spec.affinity
    return bool(spec.topology_spread_constraints) or (
        affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity) is not None
    )
