"""Stage: a cluster in virtual time that the scheduler runs on, without the machinery of a real one.

It speaks the same two words as every cluster, `snapshot` and `apply`. Jobs come and go by the hundred
thousand, so what an API server, a kubelet and controllers would do to their objects is cut down to what a
scheduler sees: pods appear with their PodGroup, run where they are bound, end, or come back.
See docs/adr/0016-the-stage-is-a-cluster-of-its-own.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from hekla.framework.decisions import Bind, Decision, Evict, Nominate, OpenGate, UpdatePodGroup
from hekla.model.resources import read_resources
from hekla.objects import Manifest, Node
from hekla.sim.agenda import Agenda
from hekla.sim.book import Book
from hekla.sim.hazards import Dice
from hekla.sim.jobs import Doing, SimJob
from hekla.sim.lives import Lives
from hekla.sim.options import Options
from hekla.state.live import LiveState
from hekla.state.snapshot import Snapshot, snapshot_of
from hekla.workloads import Submission


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
        self._options = options
        self._live = LiveState()
        self._agenda = Agenda(start)
        self._lives = Lives(
            self._live,
            self._agenda,
            book,
            dice=dice,
            options=options,
            on_close=self._submit_followers,
            is_watchful=is_watchful,
        )
        self._upcoming = next(arrivals, None)
        self._followers: dict[str, list[Submission]] = {}
        self._nodes: dict[str, Node] = {}
        self._last_cycle = -math.inf
        self._hands: dict[type[Decision], Callable[[Any], None]] = {
            Bind: self._lives.bind,
            Evict: self._lives.evict,
            Nominate: self._lives.nominate,
            OpenGate: self._lives.open_gate,
            UpdatePodGroup: self._lives.update_group,
        }

    # What the scheduler sees and does

    def snapshot(self) -> Snapshot:
        """The facts of this moment."""
        self._lives.has_news = False
        if self.now > self._last_cycle + 1.5 * self._options.period:
            self._lives.confirm()
        self._last_cycle = self.now
        return snapshot_of(self._live)

    def apply(self, decisions: Sequence[Decision]) -> None:
        """Carry out what a cycle decided. What it tells people about pods is not kept: nobody reads it."""
        for decision in decisions:
            carry_out = self._hands.get(type(decision))
            if carry_out is not None:
                carry_out(decision)
        self._lives.end_of_decisions()

    def advance(self, to: float) -> None:
        """Let everything happen that is due by then, in order of time; at one moment ends before arrivals."""
        # Seconds since the start are exact where seconds since 1970 are rounded.
        end = round(to - self._start, 6)
        while (due := self._next_due()) is not None and due <= end:
            self._pass_to(due)
        self._agenda.move_to(end)

    def next_event_at(self) -> float | None:
        """When something happens next that a cycle would decide on, as precisely as is wanted."""
        due = self.now if self._lives.has_news else self._next_news()
        return None if due is None else self._start + max(due, self.now * (1 + self._options.precision))

    def _next_news(self) -> float | None:
        """When there is something to decide on; what nobody waits for happens on the way."""
        while (due := self._next_due()) is not None and due <= self._options.until:
            if self._lives.heed_everything:
                break
            self._pass_to(due)
            if self._lives.has_news:
                break
        return due

    def is_settled(self) -> bool:
        """Nothing has changed since the last snapshot that another cycle would decide anything on."""
        # Where precision is limited, what has changed waits like what is still to happen.
        return not self._lives.has_news or self._options.precision > 0

    # What is there

    @property
    def jobs(self) -> Collection[SimJob]:
        """The jobs that are there now: they wait, run, or leave."""
        return self._lives.jobs.values()

    def is_there(self, key: str) -> bool:
        return key in self._lives.jobs

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
        """Put something on the stage that is neither a node nor work."""
        self._live.note(manifest)
        self._lives.stir()

    def add_job(self, job: SimJob) -> None:
        """A job enters with its pods, which may run already."""
        self._lives.enter(job)

    def plan(
        self, at: float, act: Callable[[Any], None], subject: object, *, is_background: bool = False
    ) -> None:
        """Let something happen that long after the start; mere background does not keep time going."""
        self._agenda.plan(at, act, subject, is_background=is_background)

    def cut(self) -> None:
        """Time is over."""
        self._lives.cut()

    # Time

    def _next_due(self) -> float | None:
        arrival = math.inf if self._upcoming is None else self._upcoming.submitted
        if math.isinf(arrival) and not self._agenda.has_reason_to_go_on:
            return None
        return min(arrival, self._agenda.next_due())

    def _pass_to(self, due: float) -> None:
        """Let everything happen that is due at this moment."""
        self._agenda.move_to(due)
        self._agenda.happen()
        self._lives.settle_ends()
        self._arrive()

    def _arrive(self) -> None:
        """All submissions that are due; one that follows another waits for its end."""
        while self._upcoming is not None and self._upcoming.submitted <= self.now:
            submission = self._upcoming
            self._upcoming = next(self._arrivals, None)
            if self.is_there(submission.after):
                self._followers.setdefault(submission.after, []).append(submission)
            else:
                self._submit(submission)

    def _submit(self, submission: Submission) -> None:
        job = self._cast(submission, self.now, self._agenda.stamp())
        if job is not None:
            self._lives.enter(job)

    def _submit_followers(self, job: SimJob) -> None:
        for follower in self._followers.pop(job.key, ()):
            self.plan(self.now + follower.think_seconds, self._submit, follower)

    # Nodes

    def add_node(self, node: Node) -> None:
        self._nodes[node.metadata.name] = node
        self._lives.pods_on.setdefault(node.metadata.name, {})
        self._book.node_up(node.metadata.name, read_resources(node.status.allocatable), self.now)
        self.add(node)

    def fail_node(self, name: str) -> None:
        """The node is gone, and with it all that ran there."""
        node = self._nodes.pop(name, None)
        if node is None:
            return
        while self._lives.pods_on[name]:
            self._lives.lose_with_node(next(iter(self._lives.pods_on[name])))
        self._book.node_down(name, self.now)
        self._live.forget(node)
        self._lives.stir()

    def drain_node(self, name: str) -> None:
        """The node takes nothing more, and what it has is evicted."""
        node = self._nodes.get(name)
        if node is None:
            return
        self._cordon(node, is_cordoned=True)
        for pod in list(self._lives.pods_on[name]):
            if pod.doing is Doing.RUNNING:
                self._lives.send_away(pod, "drain", "")

    def open_node(self, name: str) -> None:
        """The node takes pods again."""
        if name in self._nodes:
            self._cordon(self._nodes[name], is_cordoned=False)

    def _cordon(self, node: Node, *, is_cordoned: bool) -> None:
        node = replace(node, spec=replace(node.spec, unschedulable=is_cordoned))
        self._nodes[node.metadata.name] = node
        self.add(node)
