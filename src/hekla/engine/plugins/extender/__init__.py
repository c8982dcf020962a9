"""Extender: opinions that a service outside gives over HTTP, one POST with JSON for each question.

    verb                 asked                      answered
    onSessionOpenVerb    {Jobs, Nodes, Queues, ...}  {}
    onSessionCloseVerb   {}                          {}
    predicateVerb        {task, node}                {status: "why not", code}; for each node
    prioritizeVerb       {task, nodes}               {nodeScore: {"n1": 30}, errorMessage}
    preemptableVerb      {evictor, evictees}         {status: vote, victims: [{UID}]}
    reclaimableVerb      {evictor, evictees}         {status: vote, victims: [{UID}]}
    jobEnqueueableVerb   {job}                       {status: vote}; 1 permits, -1 rejects, 0 abstains
    jobEnqueuedVerb      {job}                       {}
    jobReadyVerb         {job}                       {status: true}
    queueOverusedVerb    {queue}                     {overused: true}
    allocateFuncVerb     {task}                      {errorMessage}
    deallocateFuncVerb   {task}                      {errorMessage}

A verb that is not given is not asked. What tasks, nodes, jobs and queues look like stands in
`extender/messages.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import msgspec
import numpy as np

from hekla.conf import argument
from hekla.engine.framework import points
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import AnyPoint, answers
from hekla.engine.framework.rules import Vote
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task
from hekla.engine.model.wait_reason import WaitReason
from hekla.engine.plugins.extender.messages import (
    CallFailed,
    Document,
    Heard,
    Nothing,
    Overused,
    PredicateAnswer,
    Ready,
    Scored,
    Transport,
    Victims,
    Voted,
    job_document,
    node_document,
    post,
    queue_document,
    session_document,
    task_document,
)
from hekla.errors import InputError
from hekla.objects.quantity import read_seconds

Answer = TypeVar("Answer")


def patience(text: str) -> float:
    """Seconds to wait for an answer; raises InputError where the text says none."""
    seconds = read_seconds(text)
    if seconds <= 0:
        raise InputError(f'"{text}" leaves no time to answer; write it like "500ms" or "1s"')
    return seconds


def verb(key: str, when: str) -> str:
    return argument("", key=f"extender.{key}", help=f"path that is asked {when}; empty: it is not asked")


@dataclass(frozen=True)
class ExtenderArguments:
    url_prefix: str = argument("", key="extender.urlPrefix", help='address such as "http://127.0.0.1:8713"')
    timeout: str = argument(
        "1s", key="extender.httpTimeout", check=patience, help='how long an answer may take, such as "500ms"'
    )
    ignorable: bool = argument(
        False, key="extender.ignorable", help="go on without the service where it cannot be asked"
    )
    managed_resources: tuple[str, ...] = argument(
        (), key="extender.managedResources", help="ask only about pods that name one of these; none: all"
    )
    on_open: str = verb("onSessionOpenVerb", "when a cycle begins")
    on_close: str = verb("onSessionCloseVerb", "when a cycle ends")
    predicate: str = verb("predicateVerb", "whether a node takes a task")
    prioritize: str = verb("prioritizeVerb", "how good nodes are for a task")
    preemptable: str = verb("preemptableVerb", "which tasks may make room inside the queue")
    reclaimable: str = verb("reclaimableVerb", "which tasks of other queues may make room")
    overused: str = verb("queueOverusedVerb", "whether a queue has had its share")
    enqueueable: str = verb("jobEnqueueableVerb", "whether a job may be admitted")
    enqueued: str = verb("jobEnqueuedVerb", "after a job was admitted")
    ready: str = verb("jobReadyVerb", "whether a job may start")
    on_allocate: str = verb("allocateFuncVerb", "after a task was placed")
    on_release: str = verb("deallocateFuncVerb", "after a task was taken off its node")

    def verb_of_point(self) -> dict[AnyPoint, str]:
        return {
            points.PREDICATE: self.predicate,
            points.BATCH_NODE_ORDER: self.prioritize,
            points.PREEMPTABLE: self.preemptable,
            points.RECLAIMABLE: self.reclaimable,
            points.OVERUSED: self.overused,
            points.JOB_ENQUEUEABLE: self.enqueueable,
            points.JOB_ENQUEUED: self.enqueued,
            points.JOB_READY: self.ready,
        }


class Extender(Plugin):
    """Where the service cannot be asked, `extender.ignorable` decides whether that is a no.

    A predicate is a call for every node at every attempt, as Volcano's protocol has it: give it to
    services that are near and quick. A subclass with another `transport` talks to the service in another way.
    """

    name = "extender"
    asks_outside = True
    Arguments = ExtenderArguments
    transport: ClassVar[Transport] = staticmethod(post)

    def on_open(self) -> None:
        self._interested: dict[str, bool] = {}
        self._without_scores: dict[str, str] = {}
        self._is_there = True
        if self.arguments.on_open:
            try:
                self._call(self.arguments.on_open, session_document(self.session), Nothing)
            except CallFailed:
                self._is_there = self.arguments.ignorable

    def on_close(self) -> None:
        if self.arguments.on_close:
            try:
                self._call(self.arguments.on_close, {}, Nothing)
            except CallFailed:
                return  # the cycle is over: there is nothing left to refuse

    def silent_on(self) -> Collection[AnyPoint]:
        """Questions without a verb; all of them where the service did not take the session."""
        verbs = self.arguments.verb_of_point()
        return [point for point, its_verb in verbs.items() if not its_verb or not self._is_there]

    def _call(self, its_verb: str, question: Document, answer: type[Answer]) -> Answer:
        told = self.arguments
        url = f"{told.url_prefix.rstrip('/')}/{its_verb.lstrip('/')}"
        text = type(self).transport(url, msgspec.json.encode(question), patience(told.timeout))
        try:
            return msgspec.json.decode(text, type=answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CallFailed(f"{url} answered with something else than agreed: {error}") from error

    def _cares_about(self, task: Task) -> bool:
        """Whether some container names a resource that the service manages."""
        if task.uid not in self._interested:
            self._interested[task.uid] = names_one_of(task, self.arguments.managed_resources)
        return self._interested[task.uid]

    # Answers about nodes

    @answers(points.PREDICATE)
    def refuse_nodes(self, task: Task) -> list[Refusal] | None:
        if not self._cares_about(task):
            return None
        count = len(self.session.nodes)
        refused: dict[tuple[str, Code], Mask] = {}
        for row in range(count):
            reason, code = self._objection(task, row)
            if reason:
                refused.setdefault((reason, code), np.zeros(count, dtype=np.bool_))[row] = True
        return [Refusal(reason, nodes, code) for (reason, code), nodes in refused.items()]

    def _objection(self, task: Task, row: int) -> tuple[str, Code]:
        session = self.session
        question = {"task": task_document(session, task), "node": node_document(session, row)}
        try:
            answer = self._call(self.arguments.predicate, question, PredicateAnswer)
        except CallFailed as error:
            return ("" if self.arguments.ignorable else str(error)), Code.ERROR
        return answer.message, Code(answer.code) if answer.code in list(Code) else Code.ERROR

    @answers(points.BATCH_NODE_ORDER)
    def prefer_nodes(self, task: Task, among: Mask) -> Floats | None:
        self._without_scores.pop(task.uid, None)
        if not self._cares_about(task):
            return None
        try:
            scores = self._scores(task, among)
        except CallFailed as error:
            if not self.arguments.ignorable:
                self._without_scores[task.uid] = str(error)
            return None
        return np.array([scores.get(name, 0.0) for name in self.session.nodes.names], dtype=np.float64)

    def _scores(self, task: Task, among: Mask) -> dict[str, float]:
        session = self.session
        nodes = [node_document(session, int(row)) for row in np.flatnonzero(among)]
        question = {"task": task_document(session, task), "nodes": nodes}
        answer = self._call(self.arguments.prioritize, question, Scored)
        if answer.error_message or answer.node_score is None:
            raise CallFailed(answer.error_message or "the service gave no scores")
        return answer.node_score

    # Answers about victims, jobs and queues

    @answers(points.PREEMPTABLE)
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task] | None:
        return self._victims(self.arguments.preemptable, preemptor, candidates)

    @answers(points.RECLAIMABLE)
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task] | None:
        return self._victims(self.arguments.reclaimable, reclaimer, candidates)

    def _victims(self, its_verb: str, evictor: Task, candidates: Sequence[Task]) -> list[Task] | None:
        """None abstains; where the service cannot be asked no task is given up, ignorable or not."""
        if not self._cares_about(evictor):
            return None
        evictees = [task_document(self.session, task) for task in candidates]
        question = {"evictor": task_document(self.session, evictor), "evictees": evictees}
        try:
            answer = self._call(its_verb, question, Victims)
        except CallFailed:
            return []
        named = {victim.uid for victim in answer.victims or ()}
        return [task for task in candidates if task.uid in named] if answer.status else None

    @answers(points.JOB_ENQUEUEABLE)
    def may_be_admitted(self, job: Job) -> Vote:
        question = {"job": job_document(self.session, job)}
        usual = Voted(Vote.PERMIT if self.arguments.ignorable else Vote.REJECT)
        said = self._call_or(self.arguments.enqueueable, question, usual).status
        if said < 0:
            self.session.trace.of_job(
                job.uid, "the service does not admit it", speaker=self.name, code=WaitReason.ADMISSION_LIMIT
            )
        return Vote.PERMIT if said > 0 else Vote.REJECT if said < 0 else Vote.ABSTAIN

    @answers(points.JOB_ENQUEUED)
    def was_admitted(self, job: Job) -> None:
        self._call_or(self.arguments.enqueued, {"job": job_document(self.session, job)}, Nothing())

    @answers(points.OVERUSED)
    def has_had_its_share(self, queue: QueueInfo) -> bool:
        usual = Overused(not self.arguments.ignorable)
        return self._call_or(self.arguments.overused, {"queue": queue_document(queue)}, usual).overused

    @answers(points.JOB_READY)
    def may_start(self, job: Job) -> bool:
        # As in Volcano, a service that must not be ignored makes every job ready when it is away.
        usual = Ready(not self.arguments.ignorable)
        return self._call_or(self.arguments.ready, {"job": job_document(self.session, job)}, usual).status

    def _call_or(self, its_verb: str, question: Document, usual: Answer) -> Answer:
        """The answer of the service, or the usual one where it cannot be asked."""
        try:
            return self._call(its_verb, question, type(usual))
        except CallFailed:
            return usual

    # Events

    def on_allocate(self, task: Task) -> str | None:
        """A task that should have been scored and was not is not placed at all."""
        missing = self._without_scores.pop(task.uid, None)
        return missing or self._tell(self.arguments.on_allocate, task)

    def on_release(self, task: Task) -> None:
        said = self._tell(self.arguments.on_release, task)
        if said:
            self.session.trace.of_job(task.job, f"{task.name}: {said}", speaker=self.name)

    def _tell(self, its_verb: str, task: Task) -> str | None:
        if not its_verb or not self._is_there or not self._cares_about(task):
            return None
        try:
            answer = self._call(its_verb, {"task": task_document(self.session, task)}, Heard)
        except CallFailed as error:
            return None if self.arguments.ignorable else str(error)
        return answer.error_message or None


def names_one_of(task: Task, resources: Collection[str]) -> bool:
    """Whether a container or init container requests or limits one of these; none stands for all."""
    if not resources:
        return True
    spec = task.pod.spec
    named: set[Any] = set()
    for container in (*spec.containers, *spec.init_containers):
        named.update(container.resources.requests, container.resources.limits)
    return not named.isdisjoint(resources)
