"""Kubelet: one stand-in for the kubelets of all nodes, which trusts no scheduler.

It runs bound pods, ends them when their annotations say so, and finishes deletions. Like a real kubelet it
does the sums itself: a pod that does not fit its node fails with OutOfcpu and the like, and the referee
hears of it.

    hekla.dev/run-seconds    how long a pod runs; without it, for ever
    hekla.dev/exit-code      how it ends; without it, well
    hekla.dev/stop-seconds   how long it takes to stop, its grace at most; without it, its whole grace
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, Self

import aiohttp

from harness.access import Access, Background
from harness.api import wait_until
from harness.client import STRATEGIC, ApiError, Client, EventType, in_parallel
from harness.demand import Amounts, amounts, demand_of, readable, shortages
from harness.invariants import Violation, has_ended, node_of
from harness.kinds import KINDS, Object, path_of, title_of
from harness.manifests import EXIT_CODE, RUN_SECONDS, STOP_SECONDS
from harness.referee import Referee

PATIENCE_FOR_A_NODE = 2.0
Write = Callable[[], Coroutine[Any, Any, None]]


class Kubelet:
    """The kubelets of all nodes, in a thread of their own.

    `hands_off` leaves bound pods as they are, for benchmarks: it only does the sums and finishes deletions.
    """

    def __init__(
        self,
        access: Access,
        referee: Referee | None = None,
        *,
        hands_off: bool = False,
        stop_seconds: float | None = None,
        in_flight: int = 64,
    ) -> None:
        self.referee = referee or Referee()
        self.last_event = time.monotonic()
        self._access = access
        self._hands_off = hands_off
        self._stop_seconds = stop_seconds
        self._in_flight = in_flight
        self._nodes: dict[str, Object] = {}
        self._ledger = Ledger()
        self._waiting_for_node: dict[str, Object] = {}
        self._leaving: set[str] = set()
        self._phases: dict[str, str] = {}
        self._life: set[str] = set()
        self._background: Background | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        self._background = Background("kubelet")
        self._task = self._background.begin(self._run())

    def stop(self) -> None:
        """Let go of everything; pods stay as they are. A failure of the stand-in itself shows here."""
        if self._background is None:
            return
        failure = self._task.exception() if self._task.done() else None
        self._background.close()
        self._background = None
        if failure is not None:
            raise failure

    def add_nodes(self, *nodes: Object) -> None:
        """Machines join; back when the kubelet knows them."""
        assert self._background is not None, "start the kubelet first"
        self._background.run(self._create(nodes))
        names = {node["metadata"]["name"] for node in nodes}
        wait_until(lambda: names <= self._nodes.keys(), what=f"{len(names)} new nodes", every=0.01)

    def wait_for_quiet(self, seconds: float = 1.0, timeout: float = 60.0) -> None:
        """Until no pod on a node has changed for a while."""
        wait_until(
            lambda: time.monotonic() - self.last_event > seconds, timeout, what=f"{seconds:g} quiet seconds"
        )

    def phases(self) -> Counter[str]:
        """How many bound pods are in which phase, without asking the server: cheap with many pods."""
        return Counter(list(self._phases.values()))

    async def _run(self) -> None:
        self._writes: asyncio.Queue[Write] = asyncio.Queue()
        async with self._access.session(self._in_flight + 2) as session:
            self._client = Client(session)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow_nodes())
                group.create_task(self._follow_pods())
                for _ in range(self._in_flight):
                    group.create_task(self._write())

    async def _create(self, nodes: tuple[Object, ...]) -> None:
        calls = [partial(self._client.send, "POST", KINDS["Node"].path(), node) for node in nodes]
        await in_parallel(calls, self._in_flight)

    async def _follow_nodes(self) -> None:
        async for kind, node in self._client.follow(KINDS["Node"].path()):
            name = node["metadata"]["name"]
            if kind == "DELETED":
                self._nodes.pop(name, None)
                continue
            self._nodes[name] = node
            for pod in [pod for pod in self._waiting_for_node.values() if node_of(pod) == name]:
                self._on_pod("MODIFIED", pod)

    async def _follow_pods(self) -> None:
        only_bound = {"fieldSelector": "spec.nodeName!="}
        async for kind, pod in self._client.follow(KINDS["Pod"].path(), only_bound):
            self.last_event = time.monotonic()
            self._on_pod(kind, {"apiVersion": "v1", "kind": "Pod", **pod})

    def _on_pod(self, kind: EventType, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        self._waiting_for_node.pop(uid, None)
        if kind == "DELETED":
            self._forget(uid)
            return
        self._phases[uid] = pod["status"]["phase"]
        if has_ended(pod):
            self._ledger.remove(uid)
        elif not self._ledger.has_seen(uid):
            self._arrive(pod)
        if "deletionTimestamp" in pod["metadata"] and uid not in self._leaving:
            self._leaving.add(uid)
            self._later(self._seconds_to_stop(pod), lambda: self._finish_deletion(pod))

    def _forget(self, uid: str) -> None:
        self._ledger.remove(uid)
        self._phases.pop(uid, None)
        self._life.discard(uid)
        self._leaving.discard(uid)

    def _arrive(self, pod: Object) -> None:
        """Do the sums for a pod that is new on its node."""
        node = self._nodes.get(node_of(pod))
        if node is None:
            self._waiting_for_node[pod["metadata"]["uid"]] = pod
            asyncio.get_running_loop().call_later(PATIENCE_FOR_A_NODE, self._give_up_on_node, pod)
            return
        self.referee.saw_pod_on_node(pod, node)
        offered = amounts(node["status"].get("allocatable"))
        used = Counter(self._ledger.used[node_of(pod)])
        if short := self._ledger.admit(pod, offered):
            self._reject(pod, short[0], used, offered)
        else:
            self._live(pod)

    def _give_up_on_node(self, pod: Object) -> None:
        """Where there is no node there is no kubelet, and a bound pod hangs for ever."""
        if self._waiting_for_node.get(pod["metadata"]["uid"]) is pod:
            self.referee.saw_pod_on_node(pod, None)
            text = f"was bound to {node_of(pod)}, which does not exist"
            self.referee.record(Violation("I3", title_of(pod), text))

    def _reject(self, pod: Object, resource: str, used: Amounts, offered: Amounts) -> None:
        asked, taken, has = (
            readable(resource, amount[resource]) for amount in (demand_of(pod), used, offered)
        )
        numbers = f"requested: {asked}, used: {taken}, capacity: {has}"
        invariant = "I2" if resource == "pods" else "I1"
        text = f"{title_of(pod)} does not fit: {resource} {numbers}"
        self.referee.record(Violation(invariant, node_of(pod), text))
        message = f"Pod was rejected: Node didn't have enough resource: {resource}, {numbers}"
        status = {"phase": "Failed", "reason": f"OutOf{resource}", "message": message}
        self._later(0, lambda: self._patch_status(pod, status))

    def _live(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if not self._hands_off and uid not in self._life:
            self._life.add(uid)
            self._later(0, lambda: self._start_pod(pod))

    async def _start_pod(self, pod: Object) -> None:
        if pod.get("status", {}).get("phase") != "Running":
            await self._patch_status(pod, running_status())
        seconds = pod["metadata"].get("annotations", {}).get(RUN_SECONDS)
        if seconds is not None:
            self._later(float(seconds), lambda: self._end_pod(pod))

    async def _end_pod(self, pod: Object) -> None:
        if pod["metadata"]["uid"] in self._life:
            await self._patch_status(pod, ended_status(pod))

    async def _finish_deletion(self, pod: Object) -> None:
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        await self._client.send("DELETE", path_of(pod), body)

    async def _patch_status(self, pod: Object, status: Object) -> None:
        """The uid makes it miss a later pod of the same name."""
        change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        await self._client.send("PATCH", path_of(pod, "status"), change, content_type=STRATEGIC)

    def _seconds_to_stop(self, pod: Object) -> float:
        grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
        wanted = pod["metadata"].get("annotations", {}).get(STOP_SECONDS, self._stop_seconds)
        return grace if wanted is None else min(grace, float(wanted))

    def _later(self, seconds: float, write: Write) -> None:
        if seconds > 0:
            asyncio.get_running_loop().call_later(seconds, self._writes.put_nowait, write)
        else:
            self._writes.put_nowait(write)

    async def _write(self) -> None:
        """Refusals are final, for the pod has changed or gone; a server that is away is tried again."""
        while True:
            write = await self._writes.get()
            try:
                await write()
            except ApiError as error:
                if error.status >= 500 or error.status == 429:
                    self._later(0.2, write)
            except (aiohttp.ClientError, TimeoutError):
                self._later(0.2, write)


class Ledger:
    """What the nodes have given away, by the order in which pods came."""

    def __init__(self) -> None:
        self.used: dict[str, Amounts] = defaultdict(Counter)
        self._held: dict[str, tuple[str, Amounts]] = {}

    def has_seen(self, uid: str) -> bool:
        return uid in self._held

    def admit(self, pod: Object, offered: Amounts) -> list[str]:
        """The resources that are short; where none is, the pod has its place now."""
        wanted, used = demand_of(pod), self.used[node_of(pod)]
        short = shortages(wanted, used, offered)
        given: Amounts = Counter() if short else wanted
        self._held[pod["metadata"]["uid"]] = node_of(pod), given
        used.update(given)
        return short

    def remove(self, uid: str) -> None:
        node, given = self._held.pop(uid, ("", Counter[str]()))
        self.used[node].subtract(given)


def running_status() -> Object:
    """Only what schedulers and controllers read: each further field costs the API server time."""
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": _now()}
    return {"phase": "Running", "startTime": _now(), "conditions": [ready]}


def ended_status(pod: Object) -> Object:
    """Well or not, by the exit code that the pod asked for."""
    code = int(pod["metadata"].get("annotations", {}).get(EXIT_CODE, "0"))
    end = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": _now()}
    states = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": end},
        }
        for container in pod["spec"]["containers"]
    ]
    ready = {"type": "Ready", "status": "False", "reason": "PodCompleted", "lastTransitionTime": _now()}
    phase = "Failed" if code else "Succeeded"
    return {"phase": phase, "conditions": [ready], "containerStatuses": states}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
