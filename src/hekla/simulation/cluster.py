"""A cluster in virtual time that the scheduler runs on, without the machinery of a real one.

It speaks the same two words as every cluster, `snapshot` and `apply`. Jobs come and go by the hundred
thousand, so what an API server, a kubelet and controllers would do to their objects is cut down to what a
scheduler sees: pods appear with their PodGroup, run where they are bound, end, or come back.
See docs/adr/0016-the-simulated-cluster-is-one-of-its-own.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TypeVar

from msgspec.structs import replace

from hekla.engine.framework.decisions import Bind, Decision, Evict, Nominate, OpenGate, UpdatePodGroup
from hekla.engine.model.resources import read_resources
from hekla.engine.state.live import LiveState
from hekla.engine.state.snapshot import Snapshot, snapshot_of
from hekla.objects import Manifest, Node
from hekla.simulation.agenda import Agenda
from hekla.simulation.causes import WaitObserver
from hekla.simulation.event_log import RunLog
from hekla.simulation.jobs import Doing, SimJob
from hekla.simulation.lifecycle import PodLifecycle
from hekla.simulation.options import Dice, SimulationOptions
from hekla.simulation.workloads import Submission

M = TypeVar("M", bound=Manifest)

INSTANT = 1e-6
"""Times that are less apart are one."""
PATIENCE = 86_400.0
"""How long after the last event there are still cycles for jobs that wait."""


class SimulatedCluster:
    """Jobs and nodes now, and what is due; everything that happens is entered in the log.

    `make_job` makes a job of a submission, or gives none where the cluster would not take it in.
    `is_watchful` says that the configuration acts on running pods by itself: every change calls for a cycle.
    While a job waits there is a cycle after every `nap` at the latest, up to a day after the last event.
    """

    def __init__(
        self,
        arrivals: Iterator[Submission],
        make_job: Callable[[Submission, float, datetime], SimJob | None],
        log: RunLog,
        dice: Dice,
        options: SimulationOptions,
        *,
        start: float,
        is_watchful: bool = False,
        keeps_groups: bool = False,
        nap: float = math.inf,
        waits: WaitObserver | None = None,
    ) -> None:
        self._waits = waits
        self._start = start
        self._is_watchful = is_watchful
        self._arrivals = arrivals
        self._make_job = make_job
        self._log = log
        self._options = options
        self._live = LiveState()
        self._agenda = Agenda(start)
        self._lifecycle = PodLifecycle(
            self._live,
            self._agenda,
            log,
            dice=dice,
            options=options,
            on_close=self._submit_followers,
            is_watchful=is_watchful,
            keeps_groups=keeps_groups,
            heed=None if waits is None else waits.heed,
        )
        self._upcoming = next(arrivals, None)
        self._followers: dict[str, list[Submission]] = {}
        self._ended: dict[str, float] = {}
        """When jobs ended that other jobs may follow."""
        self._nodes: dict[str, Node] = {}
        """Those that are up."""
        self._known_nodes: dict[str, Node] = {}
        self._reasons_down: Counter[str] = Counter()
        self._reasons_cordoned: Counter[str] = Counter()
        self._last_cycle = -math.inf
        self._nap = nap
        self._last_event = 0.0
        self._executor_of_kind: dict[type[Decision], Callable[[Iterable[Any]], None]] = {
            Bind: self._lifecycle.bind,
            Evict: self._lifecycle.evict,
            Nominate: self._lifecycle.nominate,
            OpenGate: self._lifecycle.open_gates,
            UpdatePodGroup: self._lifecycle.update_groups,
        }

    # What the scheduler sees and does

    def snapshot(self) -> Snapshot:
        """The facts of this moment."""
        self._pass_on()
        self._last_cycle = self.now
        return snapshot_of(self._live)

    def may_decide(self) -> bool:
        """Whether a cycle could do anything now; what it would only have confirmed is confirmed."""
        lifecycle = self._lifecycle
        self._pass_on()
        self._live.take_in()
        # What has just been started counts otherwise one period later, though nothing happens till then.
        lifecycle.has_news = bool(lifecycle.unconfirmed) and lifecycle.heed_everything
        if self._is_watchful or self._live.attention.may_decide or self._has_napped:
            return True
        lifecycle.confirm()
        if self._waits is not None:
            self._waits.note_moment(self._live, self.now)
        return False

    def _pass_on(self) -> None:
        """Everything that has happened is about to be known."""
        self._lifecycle.has_news = self._lifecycle.has_made_pods = False
        self._confirm_before(self.now)

    @property
    def _has_napped(self) -> bool:
        """Whether it is time to ask those that act on the time alone."""
        return self._lifecycle.heed_everything and self.now >= self._last_cycle + self._nap - INSTANT

    def _confirm_before(self, moment: float) -> None:
        """A cycle that was left out would have found by then what the last one started."""
        if self._lifecycle.unconfirmed and moment > self._last_cycle + self._options.period + INSTANT:
            self._lifecycle.confirm()

    def apply(self, decisions: Sequence[Decision]) -> None:
        """Carry out what a cycle decided. What it tells people about pods is not kept: nothing reads it."""
        self._lifecycle.begin_decisions()
        for kind, alike in groupby(decisions, type):
            carry_out = self._executor_of_kind.get(kind)
            if carry_out is not None:
                carry_out(alike)
        self._lifecycle.end_of_decisions()

    def advance(self, to: float) -> None:
        """Let everything happen that is due by then, in order of time; at one moment ends before arrivals."""
        # Seconds since the start are exact where seconds since 1970 are rounded.
        end = round(to - self._start, 6)
        while (due := self._next_due()) <= end:
            self._pass_to(due)
        self._agenda.move_to(end)

    def next_event_at(self) -> float | None:
        """When something happens next that a cycle would decide on, as precisely as is wanted."""
        lifecycle, now = self._lifecycle, self.now
        if lifecycle.has_made_pods:
            return self._start + now
        due = now if lifecycle.has_news else self._next_news()
        if lifecycle.heed_everything and self._last_cycle + self._nap < self._last_event + PATIENCE:
            due = min(due, self._last_cycle + self._nap)
        return None if due == math.inf else self._start + max(due, self.now * (1 + self._options.precision))

    def _next_news(self) -> float:
        """When there is something to decide on; what no job waits for happens on the way."""
        due = self._next_due()
        while not self._lifecycle.heed_everything and due < math.inf and due <= self._options.until:
            self._pass_to(due)
            if self._lifecycle.has_news:
                break
            due = self._next_due()
        return due

    def is_settled(self) -> bool:
        """Nothing has changed since the last snapshot that another cycle would decide anything on."""
        # Where precision is limited, what has changed waits like what is still to happen.
        return not self._lifecycle.has_news or self._options.precision > 0

    # What is there

    @property
    def jobs(self) -> Collection[SimJob]:
        """The jobs that are there now: they wait, run, or leave."""
        return self._lifecycle.jobs.values()

    def is_there(self, key: str) -> bool:
        return key in self._lifecycle.jobs

    @property
    def nodes(self) -> Collection[Node]:
        """The nodes that are up now."""
        return self._nodes.values()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self._agenda.now

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of all resources that were ever heard of."""
        return self._live.axis.names

    def add(self, manifest: Manifest) -> None:
        """Add something that is neither a node nor work."""
        self._live.note(manifest)
        self._lifecycle.mark_changed()

    def stamped(self, manifest: M) -> M:
        """The object with a creation time, later than those of all before it."""
        meta = manifest.metadata
        if meta.creation_timestamp is not None:
            return manifest
        return replace(manifest, metadata=replace(meta, creation_timestamp=self._agenda.stamp()))

    def add_job(self, job: SimJob) -> None:
        """A job enters with its pods, which may run already."""
        self._lifecycle.enter(job)

    def plan(
        self, at: float, act: Callable[[Any], None], subject: object, *, is_background: bool = False
    ) -> None:
        """Let something happen that long after the start; mere background does not keep time going."""
        self._agenda.plan(at, act, subject, is_background=is_background)

    def cut(self) -> None:
        """Time is over."""
        self._lifecycle.cut()

    # Time

    def _next_due(self) -> float:
        """When something happens next; infinite where nothing does that is reason to go on."""
        arrival = math.inf if self._upcoming is None else self._upcoming.submitted
        if arrival == math.inf and not self._agenda.has_reason_to_go_on and not self._is_endless:
            return math.inf
        return min(arrival, self._agenda.next_due())

    @property
    def _is_endless(self) -> bool:
        """Whether something runs that ends with the simulation's time only."""
        return self._options.until < math.inf and any(job.running for job in self.jobs)

    def pass_to_the_end(self) -> bool:
        """Let time pass up to its limit, if there is one and anything is left; whether there is."""
        if self._is_endless:
            self.advance(self._start + self._options.until)
        return self._is_endless or self._next_due() < math.inf

    def _pass_to(self, due: float) -> None:
        """Let everything happen that is due at this moment."""
        self._confirm_before(due)
        self._last_event = due
        self._agenda.move_to(due)
        self._agenda.happen()
        self._lifecycle.settle_ends()
        self._arrive()

    def _arrive(self) -> None:
        """All submissions that are due; one that follows another waits for its end."""
        now = self.now
        while (submission := self._upcoming) is not None and submission.submitted <= now:
            self._upcoming = next(self._arrivals, None)
            if not submission.after:
                self._submit(submission)
            elif submission.after in self._ended:
                self._submit_after(submission, self._ended[submission.after])
            else:
                self._followers.setdefault(submission.after, []).append(submission)

    def _submit_after(self, submission: Submission, end: float) -> None:
        self.plan(max(self.now, end + submission.think_seconds), self._submit, submission)

    def _submit(self, submission: Submission) -> None:
        job = self._make_job(submission, self.now, self._agenda.stamp())
        if job is not None:
            self._lifecycle.enter(job)

    def _submit_followers(self, job: SimJob) -> None:
        self._ended[job.key] = self.now
        for follower in self._followers.pop(job.key, ()):
            self._submit_after(follower, self.now)

    @property
    def never_submitted(self) -> list[Submission]:
        """Jobs that still wait for the end of another one."""
        return [follower for followers in self._followers.values() for follower in followers]

    # Nodes: one that several things keep down or closed comes back with the last of them.

    def add_node(self, node: Node) -> None:
        self._known_nodes[node.metadata.name] = node
        self._bring_up(node.metadata.name)

    def _bring_up(self, name: str) -> None:
        if name in self._nodes or self._reasons_down[name] or name not in self._known_nodes:
            return
        node = self._known_nodes[name]
        self._nodes[name] = node
        self._lifecycle.pods_on.setdefault(name, {})
        self._log.node_up(name, read_resources(node.status.allocatable), self.now)
        self.add(node)
        if self._reasons_cordoned[name]:
            self._cordon(name, is_cordoned=True)

    def fail_node(self, name: str) -> None:
        """The node is gone, and with it all that ran there."""
        self._reasons_down[name] += 1
        node = self._nodes.pop(name, None)
        if node is None:
            return
        self._lifecycle.lose_node(name)
        self._log.node_down(name, self.now)
        self._live.forget(node)
        self._lifecycle.mark_changed()

    def repair_node(self, name: str) -> None:
        self._reasons_down[name] -= 1
        self._bring_up(name)

    def drain_node(self, name: str) -> None:
        """The node takes nothing more, and what it has is evicted."""
        self._reasons_cordoned[name] += 1
        if name not in self._nodes:
            return
        self._cordon(name, is_cordoned=True)
        for pod in list(self._lifecycle.pods_on[name]):
            if pod.doing is Doing.RUNNING:
                self._lifecycle.send_away(pod, "drain", "")

    def open_node(self, name: str) -> None:
        """The node takes pods again."""
        self._reasons_cordoned[name] -= 1
        if name in self._nodes and not self._reasons_cordoned[name]:
            self._cordon(name, is_cordoned=False)

    def _cordon(self, name: str, *, is_cordoned: bool) -> None:
        node = self._nodes[name]
        self._nodes[name] = replace(node, spec=replace(node.spec, unschedulable=is_cordoned))
        self.add(self._nodes[name])
