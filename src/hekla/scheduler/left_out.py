"""Left out: why jobs wait of which a session knows no PodGroup, told from their objects alone.

A PodGroup whose queue does not exist cannot be used; a Job that was stopped, or refused when it was
submitted, has no PodGroup at all, and one that has just come does not have it yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from hekla.engine.explain.explanation import Explanation
from hekla.engine.framework.session import Session
from hekla.engine.model.queue import DEFAULT_QUEUE, ROOT
from hekla.engine.model.wait_reason import Finding, Verdict, WaitReason, in_order
from hekla.objects import Manifest, PersistentVolumeClaim, Pod, PodGroup, Queue, VolcanoJob
from hekla.objects.complaint import Complaint, nearest, quoted
from hekla.objects.keys import GROUP_NAME
from hekla.text import counted

STOPPED = {
    "Aborting": (Verdict.HELD, "it is being aborted; resume it to let it wait again"),
    "Aborted": (Verdict.HELD, "it was aborted; resume it to let it wait again"),
    "Terminating": (Verdict.NEVER, "it is being terminated"),
    "Terminated": (Verdict.NEVER, "it was terminated; submit it anew"),
    "Failed": (Verdict.NEVER, "it has failed; submit it anew"),
}
ENDED = ("Completed", "Completing")
NOT_USED = Finding(WaitReason.GATE, Verdict.HELD, "its PodGroup cannot be used as it is")
TO_BE_MADE = Finding(WaitReason.GATE, Verdict.NOT_YET, "its PodGroup is still to be made")

M = TypeVar("M", bound=Manifest)


def left_out(
    session: Session, manifests: Iterable[Manifest] = (), complaints: Iterable[Complaint] = ()
) -> list[Explanation]:
    """Of every job that waits; `manifests` may hold what was refused, of which `complaints` tell."""
    told = left_out_by_key(session, manifests, complaints).values()
    return [each for each in told if each.verdict not in (None, Verdict.NEVER)]


def explain_left_out(
    session: Session, name: str, manifests: Iterable[Manifest] = (), complaints: Iterable[Complaint] = ()
) -> Explanation | None:
    """Of one job, be it that it has ended; None where there is none of that name, or several."""
    told = left_out_by_key(session, manifests, complaints).items()
    found = [each for key, each in told if name in (key, each.job, each.job.partition("/")[2])]
    return found[0] if len(found) == 1 else None


def left_out_by_key(
    session: Session, manifests: Iterable[Manifest] = (), complaints: Iterable[Complaint] = ()
) -> dict[str, Explanation]:
    """By the key of the PodGroup, else of the Job or the pod, all that are left out, ended ones included."""
    return dict(_Reader(session, [*manifests], complaints).all())


class _Reader:
    """The objects that a session takes no job from, of those that it has and those handed in."""

    def __init__(
        self, session: Session, manifests: Iterable[Manifest], complaints: Iterable[Complaint]
    ) -> None:
        self._session = session
        self._groups: dict[str, PodGroup] = _by_key(PodGroup, session, manifests)
        self._jobs: dict[str, VolcanoJob] = _by_key(VolcanoJob, session, manifests)
        self._queues: dict[str, Queue] = _by_key(Queue, session, manifests)
        self._claims = _by_key(PersistentVolumeClaim, session, manifests)
        self._said: dict[str, str] = {}
        for complaint in (*complaints, *session.snapshot.complaints):
            self._said.setdefault(complaint.subject, complaint.message.removeprefix("left out: "))

    def all(self) -> Iterator[tuple[str, Explanation]]:
        """Each with the key of the object it is told of."""
        jobs = self._session.jobs.values()
        known = {name for job in jobs for name in (job.uid, f"{job.namespace}/{job.title}")}
        for key, group in self._groups.items():
            title = _title(group)
            if key not in known and title not in known:
                known.add(title)
                queue = group.spec.queue or DEFAULT_QUEUE
                found = [*self._of_queue(queue), *self._complaint(f"podgroup {key}")]
                yield key, _explanation(title, queue, group.status.phase, found or [NOT_USED])
        for key, job in self._jobs.items():
            if key not in known:
                queue = job.spec.queue or DEFAULT_QUEUE
                yield key, _explanation(key, queue, job.status.state.phase, [*self._of_job(job, queue)])
        yield from self._of_pods()

    def _of_job(self, job: VolcanoJob, queue: str) -> Iterator[Finding]:
        phase = job.status.state.phase
        if phase in ENDED:
            return
        if phase in STOPPED:
            verdict, text = STOPPED[phase]
            yield Finding(WaitReason.STOPPED, verdict, text)
        found = [*self._of_queue(queue), *self._complaint(f"job {job.key}"), *self._of_claims(job)]
        yield from found
        if not found and phase not in STOPPED:
            yield TO_BE_MADE

    def _of_queue(self, name: str) -> Iterator[Finding]:
        queue = self._queues.get(name)
        parents = {each.spec.parent or ROOT for each in self._queues.values() if each.key != ROOT}
        is_known = name in self._session.queues
        if not is_known and queue is None:
            near = nearest(name, self._session.queues)
            hint = f" (did you mean {quoted(near)}?)" if near else ""
            yield _holding(f"queue {quoted(name)} does not exist{hint}")
        elif queue is not None and queue.status.state not in ("", "Open"):
            state = quoted(queue.status.state)
            yield _holding(f"queue {quoted(name)} is {state}; only an open queue takes jobs")
        elif name == ROOT or name in parents - {ROOT}:
            yield _holding(f"queue {quoted(name)} has queues below it, and only those take jobs")
        elif not is_known:
            why = self._said.get(f"queue {name}", "it cannot be used as it is")
            yield _holding(f"queue {quoted(name)} was refused: {why}")

    def _of_claims(self, job: VolcanoJob) -> Iterator[Finding]:
        """Claims that the Job names and does not describe have to be there before its PodGroup is made."""
        named = (each.volume_claim_name for each in job.spec.volumes if each.volume_claim is None)
        for name in dict.fromkeys(named):
            if name and f"{job.metadata.namespace}/{name}" not in self._claims:
                yield Finding(WaitReason.GATE, Verdict.HELD, f"claim {quoted(name)} does not exist")

    def _complaint(self, subject: str) -> Iterator[Finding]:
        """What else is wrong with the object; of its queue more is said elsewhere."""
        said = self._said.get(subject, "")
        if said and not said.startswith("spec.queue:"):
            yield Finding(WaitReason.GATE, Verdict.HELD, f"it cannot be used as it is: {said}")

    def _of_pods(self) -> Iterator[tuple[str, Explanation]]:
        """Pods that wait for a PodGroup which does not exist, once for each such group."""
        lacking: dict[str, list[Pod]] = {}
        for pod in self._session.snapshot.all_of(Pod):
            if not pod.spec.node_name and pod.status.phase == "Pending":
                name = pod.metadata.annotations.get(GROUP_NAME, "")
                group = f"{pod.metadata.namespace}/{name}" if name else ""
                if not group or group not in self._groups:
                    lacking.setdefault(group or pod.key, []).append(pod)
        for key, pods in lacking.items():
            is_named = key != pods[0].key
            text = f"{counted(len(pods), 'pod')} of it exist, the PodGroup does not" if is_named else ""
            found = Finding(WaitReason.GATE, Verdict.HELD, text) if is_named else TO_BE_MADE
            yield key, _explanation(key, "", "", [found])


def _holding(text: str) -> Finding:
    return Finding(WaitReason.QUEUE, Verdict.HELD, text)


def _explanation(job: str, queue: str, phase: str, found: Sequence[Finding]) -> Explanation:
    ordered = in_order(found)
    headline = "not scheduled: no pod group in this cycle" if ordered else f"nothing waits ({phase.lower()})"
    return Explanation(
        job,
        queue,
        phase,
        headline,
        tuple(f"{one.verdict}: {one.text}" for one in ordered),
        ordered[0].code if ordered else None,
        ordered[0].verdict if ordered else None,
        tuple(ordered),
    )


def _by_key(kind: type[M], session: Session, manifests: Iterable[Manifest]) -> dict[str, M]:
    given = [one for one in manifests if isinstance(one, kind)]
    return {one.key: one for one in (*given, *session.snapshot.all_of(kind))}


def _title(group: PodGroup) -> str:
    owners = group.metadata.owner_references
    name = next((one.name for one in owners if one.controller and one.kind == "Job"), group.metadata.name)
    return f"{group.metadata.namespace}/{name}"
