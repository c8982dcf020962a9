"""Executor: decisions of the scheduler, each checked against the facts and carried out.

A decision about a pod that is gone, bound or full of other plans is refused and told; the next
cycle sees the facts as they are.
"""

from __future__ import annotations

from msgspec.structs import replace

from hekla.cluster import conditions, volumes
from hekla.cluster.embedded.kubelet import Kubelet, is_terminating
from hekla.cluster.embedded.timeline import Due, EventLog, Timeline, called
from hekla.cluster.node_usage import NodeUsage, is_finished
from hekla.cluster.store import Store
from hekla.engine.framework.decisions import (
    Bind,
    Decision,
    Evict,
    Nominate,
    OpenGate,
    Tell,
    UpdatePodGroup,
    UpdateQueue,
    UpdateShard,
)
from hekla.engine.framework.messages import UNSCHEDULABLE, said
from hekla.engine.model.benefit import BenefitStage, told_futile
from hekla.engine.model.resources import as_quantities
from hekla.objects import Node, NodeShard, Pod, PodGroup, Queue


class EmbeddedExecutor:
    """Carries out decisions; `evicted` holds the UIDs of pods that the scheduler took off their nodes."""

    def __init__(
        self, store: Store, kubelet: Kubelet, node_usage: NodeUsage, timeline: Timeline[Due], log: EventLog
    ) -> None:
        self._store = store
        self._kubelet = kubelet
        self._node_usage = node_usage
        self._timeline = timeline
        self._log = log
        self.evicted: set[str] = set()

    def carry_out(self, decision: Decision) -> None:
        match decision:
            case Bind():
                self._bind(decision)
            case Evict():
                self._evict(decision)
            case Nominate():
                self._nominate(decision)
            case OpenGate():
                self._open_gate(decision)
            case Tell():
                self._tell(decision)
            case UpdatePodGroup():
                self._update_pod_group(decision)
            case UpdateShard():
                self._update_shard(decision)
            case UpdateQueue():
                self._update_queue(decision)

    def _pod_of(self, decision: Bind | Evict | Nominate | OpenGate | Tell) -> Pod | None:
        """The pod that is meant, if it still exists; otherwise the decision is refused."""
        pod = self._store.get(Pod, decision.pod)
        if pod is None:
            self._refuse(decision, "the pod does not exist")
        elif decision.uid and pod.metadata.uid != decision.uid:
            self._refuse(
                decision, f'the pod of uid "{decision.uid}" is gone, "{pod.metadata.uid}" is another'
            )
        else:
            return pod
        return None

    def _refuse(self, decision: Bind | Evict | Nominate | OpenGate | Tell, reason: str) -> None:
        word = type(decision).__name__.lower()
        self._log.tell(f"pod {decision.pod}", "Refused", f"{word} refused: {reason}")

    def _bind(self, decision: Bind) -> None:
        pod = self._pod_of(decision)
        if pod is None:
            return
        node = self._store.get(Node, decision.node)
        if node is None:
            self._refuse(decision, f'node "{decision.node}" does not exist')
        elif reason := self._why_not(pod, node):
            self._refuse(decision, reason)
        else:
            volumes.bind_for(self._store, pod, node)
            self._log.tell(called(pod), "Scheduled", f'assigned to node "{decision.node}"')
            self._store.put(
                conditions.scheduled(conditions.placed(pod, decision.node), self._timeline.moment)
            )

    def _why_not(self, pod: Pod, node: Node) -> str:
        """What keeps the pod from being bound to the node, or nothing."""
        name = node.metadata.name
        if pod.spec.node_name:
            return f'the pod is bound to node "{pod.spec.node_name}" already'
        if is_terminating(pod) or is_finished(pod):
            return "the pod is on its way out" if is_terminating(pod) else "the pod has ended"
        if gates := [gate.name for gate in conditions.ungated(pod).spec.scheduling_gates]:
            return f'the pod waits at gate "{gates[0]}"'
        shortage = self._node_usage.shortage(pod, name)
        return f'node "{name}" has {shortage}' if shortage else ""

    def _evict(self, decision: Evict) -> None:
        pod = self._pod_of(decision)
        if pod is None:
            return
        if reason := _why_not_evicted(pod):
            self._refuse(decision, reason)
            return
        benefit = f' in favour of "{decision.beneficiary}"' if decision.beneficiary else ""
        self._log.tell(called(pod), "Evicted", f'evicted because of "{decision.reason}"{benefit}')
        self.evicted.add(pod.metadata.uid)
        pod = conditions.evicted(pod, decision.reason, self._timeline.moment)
        self._store.put(pod)
        self._kubelet.delete(pod)

    def _nominate(self, decision: Nominate) -> None:
        pod = self._pod_of(decision)
        if pod is not None and not pod.spec.node_name:
            self._store.put(replace(pod, status=replace(pod.status, nominated_node_name=decision.node)))

    def _tell(self, decision: Tell) -> None:
        pod = self._pod_of(decision)
        if pod is None or pod.spec.node_name:
            return
        told = conditions.not_scheduled(pod, decision.reason, decision.message, self._timeline.moment)
        if told != pod:
            self._log.tell(called(pod), "FailedScheduling", decision.message)
            self._store.put(told)

    def _update_pod_group(self, decision: UpdatePodGroup) -> None:
        group = self._store.get(PodGroup, decision.pod_group)
        if group is None:
            self._log.tell(f"podgroup {decision.pod_group}", "Refused", "the pod group does not exist")
            return
        before, after = group.status.phase, decision.status.phase
        if before != after:
            message = f'phase "{before}" -> "{after}"' if before else f'phase "{after}"'
            self._log.tell(called(group), after, message)
        if message := told_futile(group.status, decision.status):
            self._log.tell(called(group), BenefitStage.FUTILE.value, message)
        known = {said(condition) for condition in group.status.conditions}
        for condition in decision.status.conditions:
            if condition.type == UNSCHEDULABLE and said(condition) not in known:
                self._log.tell(called(group), UNSCHEDULABLE, condition.message)
        self._store.put(replace(group, status=decision.status))

    def _open_gate(self, decision: OpenGate) -> None:
        pod = self._pod_of(decision)
        if pod is not None:
            self._store.put(conditions.ungated(pod))

    def _update_shard(self, decision: UpdateShard) -> None:
        shard = self._store.get(NodeShard, decision.shard)
        if shard is not None:
            self._store.put(replace(shard, status=decision.status))

    def _update_queue(self, decision: UpdateQueue) -> None:
        queue = self._store.get(Queue, decision.queue)
        if queue is not None:
            status = replace(queue.status, allocated=as_quantities(decision.allocated))
            self._store.put(replace(queue, status=status))


def _why_not_evicted(pod: Pod) -> str:
    """What keeps the pod from being taken off a node, or nothing."""
    if is_terminating(pod):
        return "the pod is on its way out"
    if is_finished(pod):
        return "the pod has ended"
    return "" if pod.spec.node_name else "the pod is on no node"
