"""Lifecycle: what becomes of jobs and their pods, from the moment they enter until they are over."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import groupby
from operator import attrgetter

from msgspec.structs import replace

from hekla.cluster import conditions
from hekla.controllers.expand import is_admitted, task_of, tasks_to_make
from hekla.engine.framework.decisions import Bind, Evict, Nominate, OpenGate, UpdatePodGroup
from hekla.engine.model.job import INQUEUE
from hekla.engine.model.job import RUNNING as RUNNING_PHASE
from hekla.engine.state.live import LiveState
from hekla.objects import Condition, Pod
from hekla.objects.pod import PodStatus
from hekla.objects.scheduling import PodGroupStatus
from hekla.simulation.agenda import Agenda
from hekla.simulation.event_log import RunLog
from hekla.simulation.jobs import Doing, SimJob, SimPod
from hekla.simulation.options import Dice, SimulationOptions
from hekla.simulation.run import NOTHING, Ending, State
from hekla.simulation.workloads import Restart

# Bare names: to look a member up at its class takes longer than most of what is done with it.
NOT_MADE, WAITING, RUNNING, LEAVING, DONE, GONE = Doing


class PodLifecycle:
    """The jobs that are there. `on_close` is called with each that is over, `heed` with each that changes.

    `is_watchful` says that the configuration acts on running pods by itself: every change is news.
    """

    def __init__(
        self,
        live: LiveState,
        agenda: Agenda,
        log: RunLog,
        *,
        dice: Dice,
        options: SimulationOptions,
        on_close: Callable[[SimJob], None],
        is_watchful: bool,
        keeps_groups: bool,
        heed: Callable[[SimJob], None] | None = None,
    ) -> None:
        self._heed = heed or _nothing
        self.jobs: dict[str, SimJob] = {}
        self.pods_on: dict[str, dict[SimPod, None]] = {}
        self.has_news = True
        """Something has changed that a cycle would decide on."""
        self.has_made_pods = False
        """A Job was admitted: its pods wait for the very next cycle, however coarse the precision is."""
        self._live = live
        self._agenda = agenda
        self._log = log
        self._dice = dice
        self._options = options
        self._on_close = on_close
        self._is_watchful = is_watchful
        self._keeps_groups = keeps_groups
        self._pods: dict[str, SimPod] = {}
        self._job_by_group: dict[str, SimJob] = {}
        self._running = PodStatus(phase="Running")
        """The status of all pods that the latest cycle has started."""
        self._ending: dict[SimJob, None] = {}
        self._active_pods = 0
        """Pods that wait or leave."""
        self.unconfirmed: dict[SimJob, int] = {}
        """Of jobs, how many pods were started by the last cycle; the next one finds that they run."""

    @property
    def heed_everything(self) -> bool:
        """Whether a job waits for any event, or the configuration acts on every one."""
        return bool(self._active_pods) or self._is_watchful

    @property
    def _is_looked_at_again(self) -> bool:
        """Whether what a cycle has decided may let the next one decide more, though nothing else happens."""
        return not self._live.attention.rules.for_room

    @property
    def _reserves_too_much(self) -> bool:
        """Whether a job that was just started may reserve more, until it is known to run, than it then holds.

        A job of a trace that starts anew reserves what its pods ask for.
        """
        return self._keeps_groups or any([job.running > count for job, count in self.unconfirmed.items()])

    def mark_changed(self) -> None:
        self.has_news = True

    def _free(self) -> None:
        """Room was given up, or a job admitted, which matters to those that wait."""
        self.has_news |= self.heed_everything

    def enter(self, job: SimJob) -> None:
        """A job appears with its pods, which may run already."""
        self.jobs[job.key] = job
        self._heed(job)
        if job.group is not None:
            self._job_by_group[job.group.key] = job
            self._live.note(job.group)
        made = [pod for pod in job.pods if pod.doing is not NOT_MADE]
        self._pods.update([(pod.key, pod) for pod in made])
        self._live.note_all([pod.manifest for pod in made])
        running = [pod for pod in made if pod.doing is RUNNING]
        self._active_pods += len(job.pods) - len(running)
        if running:
            self._begin(job, running)
        self._make_pods(job)
        self.mark_changed()

    # What a Job's controller does

    def _make_pods(self, job: SimJob) -> None:
        """Pods that are missing are made, as long as the PodGroup is admitted."""
        if not job.has_controller or not is_admitted(job.group):
            return
        missing = [pod for pod in job.pods if pod.doing is NOT_MADE]
        if job.waits_for_tasks and missing:
            assert job.manifest is not None
            tasks = tasks_to_make(
                job.manifest, [pod.manifest for pod in job.pods if pod.doing is not NOT_MADE]
            )
            missing = [pod for pod in missing if task_of(pod.manifest) in tasks]
        self.has_made_pods |= bool(missing)
        for pod in missing:
            self._make(pod)

    def _make(self, pod: SimPod) -> None:
        meta = pod.manifest.metadata
        number = f"~{pod.generation}" if pod.generation > 1 else ""
        fresh = replace(
            meta,
            uid=f"{meta.namespace}/{meta.name}{number}",
            creation_timestamp=self._agenda.stamp(),
            deletion_timestamp=None,
            deletion_grace_period_seconds=None,
        )
        pod.manifest = Pod(metadata=fresh, spec=pod.spec)
        pod.doing = WAITING
        self._heed(pod.job)
        self._pods[pod.key] = pod
        self._live.note(pod.manifest)
        self.mark_changed()

    def _renew_group(self, job: SimJob) -> None:
        """A Job that starts again gives its place in the queue up and asks anew."""
        assert job.group is not None, f"{job.key} has no PodGroup"
        self._live.forget(job.group)
        fresh = replace(job.group.metadata, creation_timestamp=self._agenda.stamp())
        job.group = replace(job.group, metadata=fresh, status=PodGroupStatus())
        self._live.note(job.group)
        self.mark_changed()

    # Decisions

    def begin_decisions(self) -> None:
        """A cycle has seen what the one before it started: pods that run by now are known to."""
        self.unconfirmed.clear()
        now = self._agenda.moment
        scheduled = Condition(type="PodScheduled", status="True", last_transition_time=now)
        self._running = PodStatus(phase="Running", start_time=now, conditions=(scheduled,))

    def bind(self, decisions: Iterable[Bind]) -> None:
        """Pods of one job that are bound one after the other begin together."""
        bound = [self._bound(self._pods[decision.pod], decision.node) for decision in decisions]
        for job, of_job in groupby(bound, attrgetter("job")):
            pods = list(of_job)
            self._live.note_all([pod.manifest for pod in pods])
            self._active_pods -= len(pods)
            self._begin(job, pods)
            self.unconfirmed[job] = self.unconfirmed.get(job, 0) + len(pods)

    def _bound(self, pod: SimPod, node: str) -> SimPod:
        assert pod.doing is WAITING, f"{pod.key} is {pod.doing.value}, not waiting"
        spec = replace(pod.spec, node_name=node)
        pod.manifest = Pod(metadata=pod.manifest.metadata, spec=spec, status=self._running)
        pod.doing, pod.node, pod.began = RUNNING, node, self._agenda.now
        return pod

    def evict(self, decisions: Iterable[Evict]) -> None:
        for decision in decisions:
            pod = self._pods.get(decision.pod)
            if pod is None:
                continue  # an eviction before this one has ended its job
            if pod.doing is RUNNING:
                self.send_away(pod, decision.reason, decision.beneficiary)
            elif pod.doing is LEAVING and pod.leaves_as is not Ending.EVICTED:
                # It leaves with another pod of its job already, and is counted as chosen all the same.
                self._log.jobs.evictions[pod.job.row] += 1
                pod.leaves_as, pod.beneficiary = Ending.EVICTED, decision.beneficiary

    def nominate(self, decisions: Iterable[Nominate]) -> None:
        for decision in decisions:
            pod = self._pods.get(decision.pod)
            if pod is not None and pod.doing is WAITING:
                status = replace(pod.manifest.status, nominated_node_name=decision.node)
                pod.manifest = replace(pod.manifest, status=status)
                self._live.note(pod.manifest)
                self.mark_changed()

    def open_gates(self, decisions: Iterable[OpenGate]) -> None:
        for pod in filter(None, [self._pods.get(decision.pod) for decision in decisions]):
            pod.manifest = conditions.ungated(pod.manifest)
            pod.spec = replace(pod.manifest.spec, node_name="")
            self._heed(pod.job)
            self._live.note(pod.manifest)
            self.mark_changed()

    def update_groups(self, decisions: Iterable[UpdatePodGroup]) -> None:
        for decision in decisions:
            job = self._job_by_group.get(decision.pod_group)
            if job is not None and job.group is not None:
                before, job.group = job.group, replace(job.group, status=decision.status)
                self._live.note(job.group)
                if before.status.phase != decision.status.phase:
                    self._enter_phase(job, decision.status.phase)

    def _enter_phase(self, job: SimJob, phase: str) -> None:
        self._heed(job)
        # One that has just been admitted leaves no more room to others than it found.
        if self._is_looked_at_again or phase != INQUEUE:
            self._free()
        self._make_pods(job)

    def end_of_decisions(self) -> None:
        """All decisions of a cycle are carried out: what waits still may be next."""
        if self.unconfirmed and (self._is_looked_at_again or self._reserves_too_much):
            self._free()
        for job in self.unconfirmed:
            if job.waits_for_tasks:
                self._make_pods(job)

    def confirm(self) -> None:
        """Write what a cycle would have written that was left out because no job waited."""
        for job in self.unconfirmed:
            if job.group is not None and self.jobs.get(job.key) is job and job.running:
                status = replace(
                    job.group.status, phase=RUNNING_PHASE, running=job.running, succeeded=job.done
                )
                job.group = replace(job.group, status=status)
                self._live.note(job.group)
                self._live.attention.expect(job.group.key, status)
        self.unconfirmed.clear()

    # Work

    def _begin(self, job: SimJob, pods: Sequence[SimPod]) -> None:
        """Pods of one job work from now on, until they are done or something happens to them."""
        for pod in pods:
            self.pods_on[pod.node][pod] = None
        job.running += len(pods)
        self._heed(job)
        if not job.has_started and job.running + job.done >= job.needed:
            job.has_started = True
            self._log.start(job.row, self._agenda.now)
        for (fails, span), alike in groupby(pods, self._end_of):
            if span < math.inf:
                act = self._fail if fails else self._finish
                self._agenda.plan_for(list(alike), self._options.start_seconds + span, act)

    def _end_of(self, pod: SimPod) -> tuple[bool, float]:
        """Whether the pod fails if nothing else happens to it, and after how many seconds it ends."""
        job, left = pod.job, pod.work - pod.saved
        fails_after = self._dice.pod_fails_after(job.key, pod.number, pod.generation)
        if job.fails_after is not None and not pod.number:
            # The one failure that the workload itself asks for: it counts at the very end, too.
            asked = max(0.0, job.fails_after - pod.saved)
            if asked <= left:
                return True, min(fails_after, asked)
        return (True, fails_after) if fails_after < left else (False, left)

    def _finish(self, pods: Iterable[SimPod]) -> None:
        """Pods of one job are done."""
        done = list(pods)
        job = done[0].job
        self._leave(done, Ending.DONE, [pod.work - pod.saved for pod in done])
        for pod in done:
            pod.doing = DONE
        job.done += len(done)
        self._ending[job] = None

    def settle_ends(self) -> None:
        """Jobs of which pods ended just now are over, or go on without them."""
        for job in self._ending:
            if self.jobs.get(job.key) is not job:
                continue  # it failed at the same moment
            if job.done == len(job.pods):
                self._close(job, State.COMPLETED)
            else:
                self._show_ends(job)
        self._ending.clear()

    def _show_ends(self, job: SimJob) -> None:
        for pod in job.pods:
            if pod.doing is DONE and pod.manifest.status.phase == "Running":
                pod.manifest = replace(pod.manifest, status=replace(pod.manifest.status, phase="Succeeded"))
                self._live.note(pod.manifest)
        if job.waits_for_tasks:
            self._make_pods(job)
        self._free()

    def _close(self, job: SimJob, state: State) -> None:
        """The job is over; nothing of it stays but, among manifests, a PodGroup that no Job takes with it."""
        stays = self._keeps_groups and state is State.COMPLETED and not job.has_controller
        if stays:
            self._show_ends(job)
        for pod in job.pods:
            if pod.doing in (RUNNING, LEAVING):
                ending = pod.leaves_as if pod.doing is LEAVING else Ending.STOPPED
                self._leave([pod], ending, [self._kept(pod)])
            elif pod.doing is not DONE:
                self._active_pods -= 1
        made = [pod for pod in job.pods if pod.doing is not NOT_MADE]
        for pod in made:
            del self._pods[pod.key]
            pod.doing = GONE
        if not stays:
            self._live.forget_all([pod.manifest for pod in made])
        if job.group is not None and not stays:
            del self._job_by_group[job.group.key]
            self._live.forget(job.group)
        del self.jobs[job.key]
        self._log.finish(job.row, self._agenda.now, state)
        self._on_close(job)
        # Its pods know it, and it them: a circle that nothing else would take apart.
        job.pods = []
        self._heed(job)
        self._free()

    # Losses

    def _fail(self, pods: Iterable[SimPod]) -> None:
        """Pods end by themselves, too early, and what they did since they were last saved is lost."""
        for pod in pods:
            job = pod.job
            job.fails_after = None if pod.number == 0 else job.fails_after
            self._log.jobs.failures[job.row] += 1
            self._stop(pod, Ending.FAILED)
            self._answer_loss(job)

    def lose_node(self, name: str) -> None:
        """All that is on the node is lost at once; then their jobs answer."""
        running = [pod for pod in self.pods_on[name] if pod.doing is RUNNING]
        for pod in list(self.pods_on[name]):
            self._log.jobs.failures[pod.job.row] += 1
            self._stop(pod, Ending.LOST if pod.doing is RUNNING else pod.leaves_as)
        for job in dict.fromkeys(pod.job for pod in running):
            self._answer_loss(job)

    def _answer_loss(self, job: SimJob) -> None:
        match job.restart:
            case Restart.NEVER:
                self._close(job, State.FAILED)
            case Restart.JOB:
                self._begin_anew(job)
            case Restart.POD:
                self._free()

    def _begin_anew(self, job: SimJob) -> None:
        """All pods that run are sent away and wait again; those that are done have to do it again."""
        self._log.jobs.restarts[job.row] += 1
        if job.has_controller:
            self._renew_group(job)
        for pod in job.pods:
            if pod.doing is RUNNING:
                self._start_leaving(pod, Ending.STOPPED, "the job starts again")
            elif pod.doing is DONE:
                self._do_again(pod)
            elif pod.doing is WAITING and job.has_controller:
                self._unmake(pod)
        self._free()

    def _do_again(self, pod: SimPod) -> None:
        pod.job.done -= 1
        saved = _saved_of(pod.job, pod.work)
        self._log.undo_pod_run(pod.last_run, max(0.0, saved - pod.saved))
        pod.saved = saved
        self._come_back(pod)

    def send_away(self, pod: SimPod, reason: str, beneficiary: str) -> None:
        """The pod is evicted, and its job answers that."""
        self._log.jobs.evictions[pod.job.row] += 1
        self._start_leaving(pod, Ending.EVICTED, reason)
        pod.beneficiary = beneficiary
        self._answer_loss(pod.job)
        self.mark_changed()

    def _start_leaving(self, pod: SimPod, ending: Ending, reason: str) -> None:
        """The pod stops working now and is gone after its grace period."""
        now = self._agenda.moment
        pod.leaves_as = ending
        pod.worked = self._worked(pod)
        pod.doing = LEAVING
        pod.job.running -= 1
        self._heed(pod.job)
        self._active_pods += 1
        grace = self._grace_of(pod)
        meta = replace(
            pod.manifest.metadata,
            deletion_timestamp=now + timedelta(seconds=grace),
            deletion_grace_period_seconds=math.ceil(grace),
        )
        pod.manifest = conditions.evicted(replace(pod.manifest, metadata=meta), reason, now)
        self._live.note(pod.manifest)
        self._agenda.plan_for([pod], grace, self._vanish)

    def _grace_of(self, pod: SimPod) -> float:
        stated = pod.spec.termination_grace_period_seconds
        return self._options.grace_seconds if stated is None else float(max(stated, 0))

    def _vanish(self, pods: Iterable[SimPod]) -> None:
        for pod in pods:
            self._stop(pod, pod.leaves_as)

    def _stop(self, pod: SimPod, ending: Ending) -> None:
        """The pod's pod run is over, and it waits for another one."""
        kept = self._kept(pod)
        self._leave([pod], ending, [kept])
        pod.saved += kept
        self._come_back(pod)

    def _come_back(self, pod: SimPod) -> None:
        """The pod waits under its old name, as one that was made just now."""
        self._live.forget(pod.manifest)
        pod.generation += 1
        self._active_pods += 1
        self._heed(pod.job)
        if not pod.job.has_controller:
            self._make(pod)
            return
        self._unmake(pod)
        self._make_pods(pod.job)

    def _unmake(self, pod: SimPod) -> None:
        """The pod is gone until its Job makes it again."""
        self._live.forget(pod.manifest)
        del self._pods[pod.key]
        pod.doing = NOT_MADE
        self.mark_changed()

    # PodRuns

    def _leave(self, pods: Sequence[SimPod], ending: Ending, kept: Iterable[float]) -> None:
        """Pods of one job give up their nodes."""
        self._agenda.drop(pods)
        rows = self._enter_pod_runs(pods, ending, kept)
        for pod, row in zip(pods, rows, strict=True):
            del self.pods_on[pod.node][pod]
            pod.last_run, pod.node, pod.beneficiary = row, "", ""
            if pod.doing is RUNNING:
                pod.job.running -= 1
            elif pod.doing is LEAVING:
                self._active_pods -= 1

    def _enter_pod_runs(self, pods: Sequence[SimPod], ending: Ending, kept: Iterable[float]) -> range:
        """What pods did on their nodes is over, and so many seconds of their work are kept."""
        now, nodes = self._agenda.now, self._log.nodes
        return self._log.enter_pod_runs(
            [
                (
                    pod.job.row,
                    pod.number,
                    pod.shape,
                    nodes[pod.node],
                    pod.began,
                    now,
                    ending,
                    seconds,
                    self._row_of(pod.beneficiary) if pod.beneficiary else NOTHING,
                )
                for pod, seconds in zip(pods, kept, strict=True)
            ]
        )

    def _row_of(self, group: str) -> int:
        job = self._job_by_group.get(group)
        return NOTHING if job is None else job.row

    def _worked(self, pod: SimPod) -> float:
        """Seconds of work in this pod run; one that leaves has stopped working."""
        if pod.doing is LEAVING:
            return pod.worked
        return max(0.0, self._agenda.now - pod.began - self._options.start_seconds)

    def _kept(self, pod: SimPod) -> float:
        """How much more of its work than before is safe."""
        return max(0.0, _saved_of(pod.job, pod.saved + self._worked(pod)) - pod.saved)

    def cut(self) -> None:
        """Time is over: what still runs is entered as far as it has come."""
        for job in self.jobs.values():
            if job.running + job.done < job.needed:
                self._log.jobs.state[job.row] = State.WAITING
            cut = [pod for pod in job.pods if pod.node]
            self._enter_pod_runs(cut, Ending.CUT, map(self._worked, cut))


def _saved_of(job: SimJob, reached: float) -> float:
    """What of so much work nothing can undo: all up to the last checkpoint, where the job makes any."""
    return reached // job.checkpoint * job.checkpoint if job.checkpoint else 0.0


def _nothing(_job: SimJob) -> None:
    """Of those who do not want to hear of jobs."""
