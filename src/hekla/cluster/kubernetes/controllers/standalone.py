"""Controllers: everything that runs Jobs, queues and plain pods, for as long as this process leads.

Each time it begins to lead the view is built anew and all Jobs are looked at; what an earlier leader knew
beyond the facts, such as running timers, is lost. As in Volcano.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from msgspec import to_builtins

from hekla.clock import Clock, stopwatch
from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.cluster.kubernetes.cluster import KubernetesCluster
from hekla.cluster.kubernetes.context import ControllerContext
from hekla.cluster.kubernetes.controllers.admission import ReadAdmission
from hekla.cluster.kubernetes.controllers.executor import KubernetesExecutor
from hekla.cluster.kubernetes.controllers.job_services import JobServices
from hekla.cluster.kubernetes.controllers.job_templates import JobTemplates
from hekla.cluster.kubernetes.controllers.job_writes import JobWrites
from hekla.cluster.kubernetes.controllers.plain_pods import PlainPods
from hekla.cluster.kubernetes.controllers.view import SHOWN, ControllerView
from hekla.cluster.kubernetes.outbox import WriteRank
from hekla.cluster.reactions import Reactions
from hekla.controllers import JobController, JobOptions, standing_queues
from hekla.controllers.queue_tree import ROOT
from hekla.errors import ClusterError
from hekla.objects import Manifest, Pod, Queue, VolcanoCommand, VolcanoJob

logger = logging.getLogger("hekla.cluster")
ALSO_WATCHED: tuple[type[Manifest], ...] = (VolcanoJob, VolcanoCommand)
"""What a scheduler alone has no use for."""
COMPONENT = "vc-controller-manager"
"""How events call the controllers; Volcano's name, for tools look for it."""
LEADER_CHECK_PERIOD = 0.25
"""How often it is checked who leads; seconds."""
GATHER = 0.02
"""How long changes are gathered before they are answered: a gang that moves together is counted once."""
AT_ONCE = 10
"""How many changes are answered before other tasks on the event loop have their turn."""
PATIENCE_FOR_QUEUES = 10.0


PAUSE = 2.0


class Controllers:
    """Follows the cluster's store; `run` works while `may_write` says so."""

    def __init__(
        self,
        client: Client,
        cluster: KubernetesCluster,
        clock: Clock,
        *,
        may_write: Callable[[], bool] = lambda: True,
        options: JobOptions | None = None,
    ) -> None:
        self._client = client
        self._cluster = cluster
        self._clock = clock
        self._may_write = may_write
        self._options = options
        self.term: LeaderTerm | None = None
        cluster.store.watch(self._heed)

    async def run(self) -> None:
        """Lead, lose the lead, lead again, for ever."""
        await self._cluster.synced()
        while True:
            while not self._may_write():
                await asyncio.sleep(LEADER_CHECK_PERIOD)
            await self._wait_for_queues()
            self.term = LeaderTerm(self._client, self._cluster, self._clock, self._options, self._may_write)
            try:
                await self.term.run()
            finally:
                self.term.is_over = True
                self.term = None

    async def _wait_for_queues(self) -> None:
        """The scheduler makes the standing queues in these moments; a Job must not be refused for that."""
        began = stopwatch()
        default = self._cluster.options.default_queue
        while stopwatch() - began < PATIENCE_FOR_QUEUES:
            if {ROOT, default} <= self._cluster.store.queues().keys():
                return
            await asyncio.sleep(GATHER)

    def _heed(self, before: Manifest | None, after: Manifest | None) -> None:
        if self.term is not None:
            self.term.heed(before, after)


class LeaderTerm:
    """One term as the leader."""

    def __init__(
        self,
        client: Client,
        cluster: KubernetesCluster,
        clock: Clock,
        options: JobOptions | None,
        may_write: Callable[[], bool],
    ) -> None:
        self._clock = clock
        self._cluster = cluster
        self._may_write = may_write
        self.is_over = False
        self._stirred = asyncio.Event()
        facts, names = cluster.store, cluster.options.scheduler_names
        context = ControllerContext(cluster.outbox, cluster.writer, self._tell, self.is_current)
        self._admission = ReadAdmission(facts, names[0], self._tell)
        self.view = ControllerView(facts, self._admission)
        self._templates = JobTemplates(client)
        self._services = JobServices(client, self._tell)
        controller = JobController(options)
        writes = JobWrites(context, self.view, controller)
        self.executor = KubernetesExecutor(context, self.view, self._templates, self._services, writes)
        self.reactions = Reactions(self.view.store, self.executor, controller, self._now)
        writes.reactions = self.reactions
        self._commands = CommandObjects(context, self._carry_out)
        self._plain_pods = PlainPods(context, client, facts, names)
        self.view.store.watch(self._note)

    def is_current(self) -> bool:
        return not self.is_over and self._may_write()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def _tell(self, manifest: Manifest, type_: str, reason: str, message: str) -> None:
        if self.is_current():
            self._cluster.recorder.tell(manifest, type_, reason, message, COMPONENT)

    async def run(self) -> None:
        """Answer what happens, until the lead is lost."""
        self._begin()
        while self.is_current():
            await self._wait()
            began = stopwatch()
            await self._answer()
            # A large Job takes a while to count; other tasks on the event loop want their turn, too.
            await asyncio.sleep(max(GATHER, 2 * (stopwatch() - began)))

    def _begin(self) -> None:
        for kind, key in self.view.places():
            self._look_at(kind, key)
        for command in list(self.view.facts.all_of(VolcanoCommand)):
            self._commands.heed(command)
        for pod in self.view.facts.all_of(Pod):
            self._plain_pods.heed(pod)
        self._stirred.set()

    async def _wait(self) -> None:
        """Until something happens or is due; never for long, for the lead may be lost."""
        due, patience = self.reactions.next_due(), LEADER_CHECK_PERIOD
        if due is not None:
            patience = min(patience, max((due - self._now()).total_seconds(), 0.0))
        try:
            async with asyncio.timeout(patience):
                await self._stirred.wait()
        except TimeoutError:
            pass
        self._stirred.clear()

    async def _answer(self) -> None:
        while self._answer_some() and self.is_current():
            await asyncio.sleep(0)
        while (due := self.reactions.next_due()) is not None and due <= self._now() and self.is_current():
            self._fire(due)
            await asyncio.sleep(0)

    def _answer_some(self) -> bool:
        """Whether more is to be answered; what cannot be is left out, so that one Job stops no other."""
        try:
            return self.reactions.drain(AT_ONCE)
        except Exception:
            logger.exception("a change could not be answered")
            return True

    def _fire(self, due: datetime) -> None:
        try:
            self.reactions.fire(due)
        except Exception:
            logger.exception("what was due could not be done")

    def _look_at(self, kind: type[Manifest], key: str) -> None:
        """Show the controllers one object, if it can be shown at all."""
        try:
            self.view.show(kind, key)
        except Exception:
            logger.exception("%s %s cannot be looked at", kind.__name__.lower(), key)

    def heed(self, before: Manifest | None, after: Manifest | None) -> None:
        """A fact has changed."""
        manifest = after or before
        assert manifest is not None
        if isinstance(manifest, SHOWN):
            self._look_at(type(manifest), manifest.key)
        match after:
            case Pod():
                self._plain_pods.heed(after)
            case VolcanoCommand() if before is None:
                self._commands.heed(after)
        if isinstance(before, Pod) and after is None:
            self._plain_pods.heed_end(before)
        elif isinstance(manifest, Queue):
            self._check_again()
        elif isinstance(manifest, VolcanoJob) and after is None:
            self._templates.forget(manifest.key)
            self._services.forget(manifest.key)

    def _check_again(self) -> None:
        """What was refused may be fine, now that queues have changed."""
        for name in list(self._admission.refused_queues):
            self._look_at(Queue, name)
        for key in list(self._admission.refused_jobs):
            self._look_at(VolcanoJob, key)

    def _note(self, before: Manifest | None, after: Manifest | None) -> None:
        """What the controllers see has changed."""
        self.reactions.heed(before, after)
        if isinstance(before, VolcanoJob) and isinstance(after, VolcanoJob) and before.spec != after.spec:
            self.executor.refresh_services(after)
        self._stirred.set()

    def _carry_out(self, command: VolcanoCommand) -> None:
        self.view.store.put(command)


class CommandObjects:
    """Objects of kind Command: each is deleted first and given to `carry_out` then, so at most once."""

    def __init__(self, context: ControllerContext, carry_out: Callable[[VolcanoCommand], None]) -> None:
        self._context = context
        self._carry_out = carry_out

    def heed(self, command: VolcanoCommand) -> None:
        """A Command is there."""
        if command.metadata.deletion_timestamp is None:
            key = f"command {command.metadata.uid}"
            self._context.outbox.put(WriteRank.OBJECT, key, partial(self._take, command))

    async def _take(self, command: VolcanoCommand) -> None:
        if not self._context.is_current():
            return
        try:
            is_ours = await self._context.writer.delete(VolcanoCommand, command.key, command.metadata.uid)
        except ClusterError as error:
            logger.warning("command %s not taken: %s", command.key, error)
            asyncio.get_running_loop().call_later(PAUSE, self.heed, command)
            return
        if is_ours and self._context.is_current():
            self._carry_out(command)


async def ensure_queues(cluster: KubernetesCluster) -> bool:
    """Make the standing queues that are missing; whether they are there now."""
    for queue in standing_queues(set(cluster.store.queues())):
        body = {"metadata": {"name": queue.metadata.name}, "spec": to_builtins(queue.spec)}
        try:
            await cluster.writer.create(Queue, "", body)
            logger.info("queue %s made", queue.metadata.name)
        except Refused as refusal:
            if refusal.reason != "AlreadyExists":
                logger.warning("queue %s cannot be made: %s", queue.metadata.name, refusal)
                return False
        except ClusterError as error:
            logger.warning("queue %s cannot be made: %s", queue.metadata.name, error)
            return False
    return True
