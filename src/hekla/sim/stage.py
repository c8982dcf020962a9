"""Stage: a cluster in virtual time that the scheduler runs on, without the machinery of a real one.

It speaks the same two words as every cluster, `snapshot` and `apply`. Jobs come and go by the hundred
thousand, so what an API server, a kubelet and controllers would do to their objects is cut down to what a
scheduler sees: pods appear with their PodGroup, run where they are bound, end, or come back.
See docs/adr/0016-the-stage-is-a-cluster-of-its-own.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from msgspec.structs import replace

from hekla.cluster import conditions
from hekla.cluster.embedded.timeline import Timeline
from hekla.framework.decisions import Bind, Decision, Evict, Nominate, OpenGate, UpdatePodGroup
from hekla.model.job import RUNNING
from hekla.model.resources import read_resources
from hekla.objects import Condition, Manifest, Node, Pod
from hekla.objects.pod import PodStatus
from hekla.sim.book import Book
from hekla.sim.hazards import Dice
from hekla.sim.jobs import Doing, SimJob, SimPod
from hekla.sim.options import Options
from hekla.sim.run import NOTHING, Ending, State
from hekla.state.live import LiveState
from hekla.state.snapshot import Snapshot, snapshot_of
from hekla.workloads import Restart, Submission


class Plan(NamedTuple):
    """Something that will happen; for a pod only as long as its count of plans is the same."""

    act: Callable[[Any], None]
    subject: Any
    plans: int = NOTHING
    is_background: bool = False
    """It alone is no reason to go on."""

    @property
    def still_holds(self) -> bool:
        return self.plans in (NOTHING, getattr(self.subject, "plans", NOTHING))


class Stage:
    """Jobs and nodes now, and what is due; everything that happens is entered in the book.

    `cast` makes a job of a submission, or gives none where the cluster would not take it in.
    `is_watchful` says that the configuration acts on running pods by itself: every change calls for a cycle.
    """

    def __init__(
        self,
        arrivals: Iterator[Submission],
        cast: Callable[[Submission, float, datetime], SimJob | None],
        book: Book,
        dice: Dice,
        options: Options,
        *,
        start: float,
        is_watchful: bool = False,
    ) -> None:
        self._start = start
        self._arrivals = arrivals
        self._cast = cast
        self._book = book
        self._dice = dice
        self._options = options
        self._is_watchful = is_watchful
        self._live = LiveState()
        self._timeline: Timeline[Plan] = Timeline(0.0, origin=start)
        self._upcoming = next(arrivals, None)
        self._jobs: dict[str, SimJob] = {}
        self._pods: dict[str, SimPod] = {}
        self._nodes: dict[str, Node] = {}
        self._pods_on: dict[str, dict[SimPod, None]] = {}
        self._followers: dict[str, list[Submission]] = {}
        self._ending: dict[SimJob, None] = {}
        self._restless = 0
        """Pods that wait or leave."""
        self._busy = 0
        """Pods that hold a node and will give it up by themselves."""
        self._foreseen = 0
        """Plans that concern no pod and are reason enough to go on."""
        self._is_settled = False
        self._last_cycle = -math.inf
        self._unconfirmed: dict[SimJob, None] = {}
        """Jobs that were started by the last cycle; the next one finds that they run."""
        self._hands: dict[type[Decision], Callable[[Any], None]] = {
            Bind: self._bind,
            Evict: self._evict,
            Nominate: self._nominate,
            OpenGate: self._open_gate,
            UpdatePodGroup: self._update_group,
        }

    # What the scheduler sees and does

    def snapshot(self) -> Snapshot:
        """The facts of this moment."""
        self._is_settled = True
        if self.now > self._last_cycle + 1.5 * self._options.period:
            self._confirm()
        self._last_cycle = self.now
        return snapshot_of(self._live)

    def _confirm(self) -> None:
        """What a cycle would have written that was left out because nobody waited."""
        for job in self._unconfirmed:
            if job.group is not None and self._jobs.get(job.key) is job and job.running:
                status = replace(job.group.status, phase=RUNNING, running=job.running, succeeded=job.done)
                job.group = replace(job.group, status=status)
                self._live.note(job.group)
        self._unconfirmed.clear()

    def apply(self, decisions: Sequence[Decision]) -> None:
        """Carry out what a cycle decided. What it tells people about pods is not kept: nobody reads it."""
        self._moment = self._timeline.moment
        self._scheduled = (Condition(type="PodScheduled", status="True", last_transition_time=self._moment),)
        for decision in decisions:
            carry_out = self._hands.get(type(decision))
            if carry_out is not None:
                carry_out(decision)
        if self._unconfirmed:
            self._free()

    def advance(self, to: float) -> None:
        """Let everything happen that is due by then, in order of time; at one moment ends before arrivals."""
        # Seconds since the start are exact where seconds since 1970 are rounded.
        end = round(to - self._start, 6)
        while (due := self._next_due()) is not None and due <= end:
            self._pass_to(due)
        self._timeline.move_to(end)

    def next_event_at(self) -> float | None:
        """When something happens that a cycle would decide on; what nobody waits for happens on the way."""
        while (due := self._next_due()) is not None and due <= self._options.until:
            if self._restless or self._is_watchful or not self._is_settled:
                break
            self._pass_to(due)
            if not self._is_settled:
                return self._start + due
        return None if due is None else self._start + due

    def _pass_to(self, due: float) -> None:
        """Let everything happen that is due at this moment."""
        self._timeline.move_to(due)
        self._happen()
        self._settle_ends()
        self._arrive()

    def _next_due(self) -> float | None:
        arrival = math.inf if self._upcoming is None else self._upcoming.submitted
        if math.isinf(arrival) and not self._busy and not self._foreseen:
            return None
        return min(arrival, self._next_planned())

    def is_settled(self) -> bool:
        """Nothing has changed since the last snapshot that another cycle would decide anything on."""
        # Where precision is limited, what has changed waits like what is still to happen.
        return self._is_settled or self._options.precision > 0

    @property
    def jobs(self) -> Collection[SimJob]:
        """The jobs that are there now: they wait, run, or leave."""
        return self._jobs.values()

    @property
    def nodes(self) -> Collection[Node]:
        """The nodes that are up now."""
        return self._nodes.values()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self._timeline.now

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of all resources that were ever heard of."""
        return self._live.axis.names

    # What is there

    def add(self, manifest: Manifest) -> None:
        """Put something on the stage that is neither a node nor work."""
        self._live.note(manifest)
        self._stir()

    def add_node(self, node: Node) -> None:
        self._nodes[node.metadata.name] = node
        self._pods_on.setdefault(node.metadata.name, {})
        self._book.node_up(node.metadata.name, read_resources(node.status.allocatable), self.now)
        self._live.note(node)
        self._stir()

    def add_job(self, job: SimJob) -> None:
        """A job enters with its pods, which may run already."""
        self._jobs[job.key] = job
        if job.group is not None:
            self._live.note(job.group)
        for pod in job.pods:
            self._pods[pod.manifest.key] = pod
            self._live.note(pod.manifest)
            if pod.doing is Doing.RUNNING:
                self._begin(pod, pod.node)
            elif pod.doing is Doing.WAITING:
                self._restless += 1
        self._stir()

    def plan(
        self, at: float, act: Callable[[Any], None], subject: object, *, is_background: bool = False
    ) -> None:
        """Let something happen that long after the start; mere background does not keep time going."""
        self._foreseen += not is_background
        self._timeline.plan(at, Plan(act, subject, is_background=is_background))

    def _stir(self) -> None:
        self._is_settled = False

    def _free(self) -> None:
        """Room was given up, or a job admitted, which matters to those that wait."""
        if self._restless or self._is_watchful:
            self._is_settled = False

    # Time

    def _next_planned(self) -> float:
        while (first := self._timeline.first()) is not None:
            if first[1].still_holds:
                return first[0]
            self._timeline.pop()
        return math.inf

    def _happen(self) -> None:
        """All plans of this moment."""
        while self._next_planned() <= self._timeline.now:
            first = self._timeline.first()
            assert first is not None
            self._timeline.pop()
            plan = first[1]
            self._foreseen -= plan.plans == NOTHING and not plan.is_background
            plan.act(plan.subject)

    def _arrive(self) -> None:
        """All submissions that are due; one that follows another waits for its end."""
        now = self.now
        while self._upcoming is not None and self._upcoming.submitted <= now:
            submission = self._upcoming
            self._upcoming = next(self._arrivals, None)
            if submission.after in self._jobs:
                self._followers.setdefault(submission.after, []).append(submission)
            else:
                self._submit(submission)

    def _submit(self, submission: Submission) -> None:
        job = self._cast(submission, self.now, self._timeline.stamp())
        if job is not None:
            self.add_job(job)

    def is_there(self, key: str) -> bool:
        return key in self._jobs

    # Pods

    def _bind(self, decision: Bind) -> None:
        pod = self._pods[decision.pod]
        assert pod.doing is Doing.WAITING, f"{decision.pod} is {pod.doing.value}, not waiting"
        spec = replace(pod.spec, node_name=decision.node)
        status = PodStatus(phase="Running", start_time=self._moment, conditions=self._scheduled)
        pod.manifest = Pod(metadata=pod.manifest.metadata, spec=spec, status=status)
        self._live.note(pod.manifest)
        self._restless -= 1
        self._begin(pod, decision.node)
        self._unconfirmed[pod.job] = None

    def _begin(self, pod: SimPod, node: str) -> None:
        """The pod works from now on, until it is done or something happens to it."""
        pod.doing, pod.node, pod.began = Doing.RUNNING, node, self.now
        self._pods_on[node][pod] = None
        job = pod.job
        job.running += 1
        if not job.has_started and job.running + job.done >= job.needed:
            job.has_started = True
            self._book.start(job.row, self.now)
        left = pod.work - pod.saved
        trouble = min(self._dice.pod_fails_after(job.row, pod.number, pod.lives), self._fails_after(pod))
        act, span = (self._fail, trouble) if trouble < left else (self._finish, left)
        if span < math.inf:
            self._plan_for(pod, self._options.start_seconds + span, act)

    def _plan_for(self, pod: SimPod, span: float, act: Callable[[SimPod], None]) -> None:
        """Let it happen to the pod after that time, instead of all that was planned before."""
        self._busy += not pod.is_busy
        pod.is_busy = True
        pod.plans += 1
        self._timeline.plan(self._timeline.now + span, Plan(act, pod, pod.plans))

    def _fails_after(self, pod: SimPod) -> float:
        """The one failure that the workload itself asks for."""
        after = pod.job.fails_after
        return math.inf if after is None or pod.number else max(0.0, after - pod.saved)

    def _finish(self, pod: SimPod) -> None:
        self._leave(pod, Ending.DONE, kept=pod.work - pod.saved)
        pod.doing = Doing.DONE
        pod.job.done += 1
        self._ending[pod.job] = None

    def _settle_ends(self) -> None:
        """Jobs of which pods ended just now are over, or go on without them."""
        for job in self._ending:
            if self._jobs.get(job.key) is not job:
                continue  # it failed at the same moment
            if job.done == len(job.pods):
                self._close(job, State.COMPLETED)
            else:
                self._show_ends(job)
        self._ending.clear()

    def _show_ends(self, job: SimJob) -> None:
        for pod in job.pods:
            if pod.doing is Doing.DONE and pod.manifest.status.phase == "Running":
                pod.manifest = replace(pod.manifest, status=replace(pod.manifest.status, phase="Succeeded"))
                self._live.note(pod.manifest)
        self._free()

    def _fail(self, pod: SimPod) -> None:
        """The pod ends by itself, too early."""
        pod.job.fails_after = None if pod.number == 0 else pod.job.fails_after
        self._book.jobs.failures[pod.job.row] += 1
        self._lose(pod, Ending.FAILED)

    def _lose(self, pod: SimPod, ending: Ending) -> None:
        """The pod is gone at once, and what it did since it was last saved."""
        kept = self._kept(pod, self._worked(pod))
        self._leave(pod, ending, kept)
        pod.saved += kept
        self._come_back(pod)
        self._answer_loss(pod.job)

    def _answer_loss(self, job: SimJob) -> None:
        match job.restart:
            case Restart.NEVER:
                self._close(job, State.FAILED)
            case Restart.JOB:
                self._begin_anew(job)
            case Restart.POD:
                self._free()

    def _begin_anew(self, job: SimJob) -> None:
        """All pods that run stop and wait again; those that are done have to do it again."""
        self._book.jobs.restarts[job.row] += 1
        for pod in job.pods:
            if pod.doing is Doing.RUNNING:
                kept = self._kept(pod, self._worked(pod))
                self._leave(pod, Ending.STOPPED, kept)
                pod.saved += kept
                self._come_back(pod)
            elif pod.doing is Doing.DONE:
                job.done -= 1
                pod.saved = self._kept_of(job, 0.0, pod.work)
                self._come_back(pod)
        self._free()

    def _come_back(self, pod: SimPod) -> None:
        """The pod waits under its old name, as one that was made just now."""
        self._live.forget(pod.manifest)
        pod.lives += 1
        meta = pod.manifest.metadata
        uid = f"{meta.namespace}/{meta.name}~{pod.lives}"
        fresh = replace(
            meta,
            uid=uid,
            creation_timestamp=self._timeline.stamp(),
            deletion_timestamp=None,
            deletion_grace_period_seconds=None,
        )
        pod.manifest = Pod(metadata=fresh, spec=pod.spec)
        pod.doing = Doing.WAITING
        self._restless += 1
        self._live.note(pod.manifest)
        self._stir()

    def _leave(self, pod: SimPod, ending: Ending, kept: float) -> None:
        """The pod's stint is over."""
        self._enter_stint(pod, ending, kept)
        del self._pods_on[pod.node][pod]
        self._busy -= pod.is_busy
        pod.is_busy = False
        pod.plans += 1
        pod.node, pod.beneficiary = "", ""
        if pod.doing is Doing.RUNNING:
            pod.job.running -= 1
        elif pod.doing is Doing.LEAVING:
            self._restless -= 1

    def _enter_stint(self, pod: SimPod, ending: Ending, kept: float) -> None:
        beneficiary = self._jobs.get(pod.beneficiary)
        self._book.enter_stint(
            job=pod.job.row,
            pod=pod.number,
            shape=pod.shape,
            node=self._book.nodes.number_of(pod.node),
            began=pod.began,
            ended=self.now,
            ending=ending,
            kept=kept,
            beneficiary=NOTHING if beneficiary is None else beneficiary.row,
        )

    def _worked(self, pod: SimPod) -> float:
        """Seconds of work in this stint so far."""
        return max(0.0, self.now - pod.began - self._options.start_seconds)

    def _kept(self, pod: SimPod, worked: float) -> float:
        return self._kept_of(pod.job, pod.saved, pod.saved + worked)

    def _kept_of(self, job: SimJob, saved: float, reached: float) -> float:
        """How much more than before is safe: up to the last checkpoint, where the job makes any."""
        if not job.checkpoint:
            return 0.0
        return max(0.0, reached // job.checkpoint * job.checkpoint - saved)

    # Evictions

    def _evict(self, decision: Evict) -> None:
        pod = self._pods[decision.pod]
        if pod.doing is Doing.RUNNING:
            self._send_away(pod, decision.reason, decision.beneficiary)

    def _send_away(self, pod: SimPod, reason: str, beneficiary: str) -> None:
        """The pod stops working now and is gone after its grace period."""
        job, now = pod.job, self._timeline.moment
        self._book.jobs.evictions[job.row] += 1
        pod.worked, pod.beneficiary = self._worked(pod), beneficiary
        pod.doing = Doing.LEAVING
        job.running -= 1
        self._restless += 1
        grace = self._grace_of(pod)
        meta = replace(
            pod.manifest.metadata,
            deletion_timestamp=now + timedelta(seconds=grace),
            deletion_grace_period_seconds=math.ceil(grace),
        )
        pod.manifest = conditions.evicted(replace(pod.manifest, metadata=meta), reason, now)
        self._live.note(pod.manifest)
        self._plan_for(pod, grace, self._vanish)
        self._answer_loss(job)
        self._stir()

    def _grace_of(self, pod: SimPod) -> float:
        stated = pod.spec.termination_grace_period_seconds
        return self._options.grace_seconds if stated is None else float(max(stated, 0))

    def _vanish(self, pod: SimPod) -> None:
        kept = self._kept(pod, pod.worked)
        self._leave(pod, Ending.EVICTED, kept)
        pod.saved += kept
        self._come_back(pod)

    def _nominate(self, decision: Nominate) -> None:
        pod = self._pods[decision.pod]
        if pod.doing is Doing.WAITING:
            status = replace(pod.manifest.status, nominated_node_name=decision.node)
            pod.manifest = replace(pod.manifest, status=status)
            self._live.note(pod.manifest)
            self._stir()

    def _open_gate(self, decision: OpenGate) -> None:
        pod = self._pods[decision.pod]
        pod.manifest = conditions.ungated(pod.manifest)
        pod.spec = replace(pod.manifest.spec, node_name="")
        self._live.note(pod.manifest)
        self._stir()

    # Jobs

    def _update_group(self, decision: UpdatePodGroup) -> None:
        job = self._jobs.get(decision.pod_group)
        if job is None or job.group is None:
            return
        if decision.status.phase == RUNNING:
            self._unconfirmed.pop(job, None)
        before = job.group.status
        job.group = replace(job.group, status=decision.status)
        self._live.note(job.group)
        if before.phase != decision.status.phase:
            self._free()

    def _close(self, job: SimJob, state: State) -> None:
        """The job is over: nothing of it stays."""
        for pod in job.pods:
            if pod.doing in (Doing.RUNNING, Doing.LEAVING):
                is_evicted = pod.doing is Doing.LEAVING
                worked = pod.worked if is_evicted else self._worked(pod)
                ending = Ending.EVICTED if is_evicted else Ending.STOPPED
                self._leave(pod, ending, self._kept(pod, worked))
            elif pod.doing is Doing.WAITING:
                self._restless -= 1
            del self._pods[pod.manifest.key]
            self._live.forget(pod.manifest)
        if job.group is not None:
            self._live.forget(job.group)
        del self._jobs[job.key]
        self._book.finish(job.row, self.now, state)
        for follower in self._followers.pop(job.key, ()):
            self.plan(self.now + follower.think_seconds, self._submit, follower)
        self._free()

    # Nodes

    def fail_node(self, name: str) -> None:
        """The node is gone, and with it all that ran there."""
        node = self._nodes.pop(name, None)
        if node is None:
            return
        while self._pods_on[name]:
            pod = next(iter(self._pods_on[name]))
            self._book.jobs.failures[pod.job.row] += 1
            if pod.doing is Doing.LEAVING:
                self._vanish(pod)
            else:
                self._lose(pod, Ending.LOST)
        self._book.node_down(name, self.now)
        self._live.forget(node)
        self._stir()

    def drain_node(self, name: str) -> None:
        """The node takes nothing more, and what it has is evicted."""
        node = self._nodes.get(name)
        if node is None:
            return
        self._cordon(node, is_cordoned=True)
        for pod in list(self._pods_on[name]):
            if pod.doing is Doing.RUNNING:
                self._send_away(pod, "drain", "")

    def open_node(self, name: str) -> None:
        """The node takes pods again."""
        if name in self._nodes:
            self._cordon(self._nodes[name], is_cordoned=False)

    def _cordon(self, node: Node, *, is_cordoned: bool) -> None:
        node = replace(node, spec=replace(node.spec, unschedulable=is_cordoned))
        self._nodes[node.metadata.name] = node
        self._live.note(node)
        self._stir()

    # The end

    def cut(self) -> None:
        """Time is over: what still runs is entered as far as it has come."""
        for job in self._jobs.values():
            for pod in job.pods:
                if pod.node:
                    worked = self._worked(pod) if pod.doing is Doing.RUNNING else pod.worked
                    self._enter_stint(pod, Ending.CUT, worked)
