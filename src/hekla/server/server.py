"""Server: follows the cluster, leads or waits to lead, and runs one cycle after another."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from hekla import __version__
from hekla.clock import Clock, WallClock, stopwatch
from hekla.cluster.kubernetes import KubernetesCluster
from hekla.cluster.kubernetes.api.access import Access, Rate
from hekla.cluster.kubernetes.api.client import Client
from hekla.cluster.kubernetes.api.lease import Leadership
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.cluster.kubernetes.api.versions import VersionWatermark
from hekla.cluster.kubernetes.binding import Intent
from hekla.cluster.kubernetes.controllers import ALSO_WATCHED, Controllers
from hekla.cluster.kubernetes.controllers.standalone import ensure_queues
from hekla.cluster.kubernetes.intents import End
from hekla.collector import spare_what_is_there, without_collector
from hekla.engine.framework.registry import Registry
from hekla.errors import BrokenPromise, ClusterError, GaveUp, said_by
from hekla.objects import Pod
from hekla.scheduler.cycle import CycleReport
from hekla.scheduler.loop import Loop
from hekla.scheduler.suspects import is_foreseen, suspects_of
from hekla.server.endpoints import Endpoints
from hekla.server.metrics import Metrics
from hekla.server.options import ConfFile, ServeOptions
from hekla.server.permissions import Permission, Permissions, needed
from hekla.server.recording import CycleRecorder, header
from hekla.server.recording.recorder import RecordingGuard, put_aside

logger = logging.getLogger("hekla.serve")
MOST_IN_VAIN = 10
"""Cycles in a row that fail on nothing that could be put aside; then the process ends."""


class Server:
    """One scheduler process; `run` ends when it is told to stop."""

    def __init__(
        self, access: Access, options: ServeOptions, registry: Registry, clock: Clock | None = None
    ) -> None:
        self.options = options
        self.clock = clock or WallClock()
        self.conf_file = ConfFile(options.conf_file, registry)
        self._registry = registry
        self._access = access
        self._watermark = VersionWatermark()
        self._stopping = asyncio.Event()
        self.leadership: Leadership | None = None
        self.controllers: Controllers | None = None
        self.cycles = 0
        self._took = 0.0
        self.failures = 0
        self.trouble = ""
        """Why no cycle could be run, if the last one could not."""
        self.failure = ""
        """Why the last cycle that was run failed, if it did."""
        self.moved_at: float | None = None
        """When a cycle last ended, or a round of one who does not decide; None until the first begins."""
        self._in_vain = 0
        """How many cycles have failed in a row on no object in particular."""
        self.cycle_recorder: CycleRecorder | None = None
        self.metrics = Metrics()
        self.endpoints = Endpoints(self)

    @property
    def leads(self) -> bool:
        return self.leadership is None or self.leadership.leads

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """End after the cycle that is under way."""
        self._stopping.set()

    async def run(self) -> None:
        """Until it is told to stop; what is under way is finished, and the lease given back."""
        loop = asyncio.get_running_loop()
        for sign in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(sign, self.stop)
        loop.set_exception_handler(_tell_of_stray)
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client(self.options.qps, self.options.burst))
            # Leases and health must not wait behind a thousand binds.
            calm = await stack.enter_async_context(self._client(0, 1))
            self.cluster = KubernetesCluster(
                client,
                self.clock,
                self.options.cluster,
                may_write=lambda: self.leads,
                also=ALSO_WATCHED if self.options.with_controllers else (),
            )
            if self.options.record is not None:
                self.cycle_recorder = self._new_recorder(self.options.record)
                stack.push_async_callback(asyncio.to_thread, self.cycle_recorder.close)
            if self.options.with_controllers:
                self.controllers = Controllers(
                    client, self.cluster, self.clock, may_write=lambda: self.leads and not self.is_stopping
                )
            if self.options.lease is not None:
                self.leadership = Leadership(calm, self.options.identity, self.options.lease, self.clock)
            self.permissions = Permissions(calm, self._needs)
            self.cluster.attempts.on_forbidden = self.permissions.doubt
            self.cluster.binder.on_end = self._bind_ended
            stack.push_async_callback(self.endpoints.close)
            await self.endpoints.open()
            await self._work()

    def _new_recorder(self, path: Path) -> CycleRecorder:
        put_aside(path)
        cluster = self.options.cluster
        cycle_recorder = CycleRecorder(
            path,
            header(
                __version__,
                cluster.scheduler_names,
                default_queue=cluster.default_queue,
                ignored_provisioners=cluster.ignored_provisioners,
                plugins=self.options.plugins,
            ),
            self._registry.catalogue(),
            # Pods do not wait for a slow disk.
            is_patient=False,
            limit=self.options.record_limit,
            on_trouble=lambda trouble: logger.error("%s", trouble),
        )
        cycle_recorder.follow(self.cluster.state)
        return cycle_recorder

    def _needs(self) -> list[Permission]:
        return needed(
            self.cluster.reflectors,
            self.conf_file.conf,
            self.options.lease,
            is_sharded=self.options.cluster.shard_mode != "none",
            with_controllers=self.options.with_controllers,
            evicts=self.options.cluster.releases_gangs,
            keeps_budgets=self.options.cluster.keeps_budgets,
        )

    def _bind_ended(self, intent: Intent, end: End, seconds: float) -> None:
        pod = self.cluster.store.get(Pod, intent.pod)
        made = pod.metadata.creation_timestamp if pod is not None else None
        waited = self.clock.now() - made.timestamp() if made is not None else None
        self.metrics.bind_ended(end, seconds, waited)

    def _client(self, qps: float, burst: int) -> Client:
        return Client(
            self._access, rate=Rate(qps, burst), timeout=self.options.timeout, watermark=self._watermark
        )

    async def _work(self) -> None:
        """Everything at once, until it is told to stop or something ends that must not."""
        logger.info("following %s", self._access.server)
        keep = self.cluster.background.keep
        scheduling = asyncio.create_task(self._schedule())
        leading = asyncio.create_task(keep("lease renewal", self._lead))
        running = [
            scheduling,
            leading,
            asyncio.create_task(self.cluster.run()),
            asyncio.create_task(keep("permissions check", self.permissions.run)),
        ]
        if self.controllers is not None:
            running.append(asyncio.create_task(keep("controllers", self.controllers.run)))
        stop = asyncio.create_task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait([*running, stop], return_when=asyncio.FIRST_COMPLETED)
            self.stop()
            logger.info("stopping: no new decisions")
            scheduling.cancel()
            await self.cluster.outbox.drain(self.options.drain_seconds)
            await self._let_go(leading)
        finally:
            for task in (*running, stop):
                task.cancel()
            await asyncio.gather(*running, stop, return_exceptions=True)
        for task in done - {stop}:
            raise _surrender(task)

    async def _lead(self) -> None:
        if self.leadership is None:
            await asyncio.Event().wait()
        else:
            await self.leadership.run(self._note_leadership)

    async def _let_go(self, leading: asyncio.Task[None]) -> None:
        """Give the lease back, once it is no longer being renewed."""
        if self.leadership is not None:
            leading.cancel()
            await asyncio.wait([leading])
            try:
                async with asyncio.timeout(self.options.drain_seconds):
                    await self.leadership.release()
            except (ClusterError, TimeoutError) as error:
                logger.warning("lease not given back: %s", error)

    def _note_leadership(self, leads: bool) -> None:
        if leads:
            self.cluster.changed.set()

    async def _schedule(self) -> None:
        with without_collector():
            await self.cluster.synced()
        spare_what_is_there()
        logger.info("in sync: %s", ", ".join(self._holdings()))
        engine = Loop(
            self.cluster,
            self.conf_file.conf,
            self.clock,
            registry=self._registry,
            observer=None if self.cycle_recorder is None else RecordingGuard(self.cycle_recorder),
        )
        await asyncio.to_thread(engine.open)
        try:
            await self._run_cycles(engine)
        finally:
            # A second signal does not keep the actions from being let go.
            await asyncio.shield(asyncio.to_thread(engine.close))

    async def _run_cycles(self, engine: Loop) -> None:
        is_prepared = False
        self.moved_at = stopwatch()
        while True:
            if self.leads and self._is_fresh():
                if not is_prepared:
                    is_prepared = await ensure_queues(self.cluster)
                await self._cycle(engine)
            else:
                await self._keep_up()
            await self._pause()
            if await asyncio.to_thread(self.conf_file.refresh, engine.use):
                self.cluster.aside.try_all_again()

    async def _keep_up(self) -> None:
        """Who does not decide takes note all the same, so that changes do not pile up."""
        self.cluster.changed.clear()
        async with self.cluster.lock:
            await asyncio.to_thread(self.cluster.up_to_date)
        self.moved_at = stopwatch()

    def _holdings(self) -> list[str]:
        reflectors = self.cluster.reflectors
        counts = {kind: len(self.cluster.store.by_key(kind)) for kind in reflectors}
        return [f"{count} {RESOURCES[kind].plural}" for kind, count in counts.items() if count]

    def _is_fresh(self) -> bool:
        """Whether the API server has been heard of lately; deciding on old facts does harm."""
        health_by_kind = [reflector.health for reflector in self.cluster.reflectors.values()]
        silent = [
            health.trouble for health in health_by_kind if health.is_stale(self.options.staleness_limit)
        ]
        self.trouble = silent[0] if silent else ""
        return not silent

    async def _cycle(self, engine: Loop) -> None:
        self.cluster.changed.clear()
        began = stopwatch()
        try:
            async with self.cluster.lock:
                if self.cluster.state.is_unusable:
                    self._start_over()
                report = await asyncio.to_thread(engine.decide)
                seconds = stopwatch() - began
                await self.cluster.carry_out(report.decisions)
                # Last of all, and before anything touches what the session stands on.
                await asyncio.to_thread(self.metrics.cycle_ended, report, seconds)
            self._tell(report, stopwatch() - began)
        except Exception as error:
            self._cycle_failed(engine.cycles, error)
            return
        self.failure, self._in_vain = "", 0
        self.cycles += 1
        self.moved_at = stopwatch()
        self._took = self.moved_at - began

    def _start_over(self) -> None:
        """What the engine knows cannot be relied on: it gets everything anew."""
        logger.warning("the engine's state is made anew")
        self.cluster.start_over()
        if self.cycle_recorder is not None:
            self.cycle_recorder.follow_anew(self.cluster.state)

    def _cycle_failed(self, number: int, error: Exception) -> None:
        """Go on without whatever the cycle failed on; end where that cannot be told, time and again."""
        self.failures += 1
        self.trouble = self.failure = reason = said_by(error)
        details = None if is_foreseen(error) else error
        culprit = self.cluster.put_aside(suspects_of(error), reason)
        if isinstance(error, BrokenPromise) or (culprit is None and details is not None):
            self.cluster.state.is_unusable = True
        if culprit is not None:
            name = f"{type(culprit).__name__.lower()} {culprit.key}"
            logger.error("cycle %d failed, %s is put aside: %s", number, name, reason, exc_info=details)
            self._in_vain = 0
            self.cluster.changed.set()
            return
        logger.error("cycle %d failed: %s", number, reason, exc_info=details)
        if details is not None:
            self._in_vain += 1
        if self._in_vain >= MOST_IN_VAIN:
            raise GaveUp(f"{self._in_vain} cycles in a row failed, the last one with: {reason}")

    def _tell(self, report: CycleReport, seconds: float) -> None:
        for complaint in report.session.snapshot.complaints:
            self.cluster.facts.complain(complaint)
        if report.decisions:
            kinds: dict[str, int] = {}
            for decision in report.decisions:
                word = type(decision).__name__.lower()
                kinds[word] = kinds.get(word, 0) + 1
            said = ", ".join(f"{count} {word}" for word, count in kinds.items())
            logger.info("cycle %d: %s (%.0f ms)", self.cycles, said, 1000 * seconds)

    async def _pause(self) -> None:
        """Until the next period, or sooner where something happens; writes need their time as well."""
        began = stopwatch()
        await _first_of(self.cluster.changed.wait, self.options.period)
        gap = max(self.options.shortest_gap, min(self._took, self.options.period)) - (stopwatch() - began)
        if gap > 0:
            await asyncio.sleep(gap)


def _surrender(task: asyncio.Task[Any]) -> GaveUp:
    """Why the process ends, when a task has ended that must not."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, GaveUp):
        return error
    logger.error("a task ended that must not", exc_info=error)
    return GaveUp(f"a task ended that must not: {said_by(error) if error else task.get_name()}")


def _tell_of_stray(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What fails in a timer, or in a task that is not awaited."""
    logger.error("%s", context["message"], exc_info=context.get("exception"))


async def _first_of(wait: Callable[[], Awaitable[object]], seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await wait()
    except TimeoutError:
        pass
