"""Domain search: try a job in one network domain after another, and take the best that will do.

Every attempt is made for real in the session. Groups of domains of equal preference (gradients) are
tried in order, the closest networks first. Of each group all domains are tried, and each attempt is
undone before the next begins; where the outcome is known beforehand, some need not be tried at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hekla.engine.actions.domain_bounds import DomainBounds
from hekla.engine.actions.nomination import place_as_nominated
from hekla.engine.actions.pending import PendingTasks
from hekla.engine.actions.placing import Placer, PlacingArguments
from hekla.engine.framework.orders import OrderedTasks
from hekla.engine.framework.session import Session
from hekla.engine.framework.statement import Operation, Statement
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.ledger.domains import Domain, DomainTree
from hekla.engine.model.job import Job, SubJob


class Tentative:
    """Placements that stand until they are undone; then they can be made again."""

    def __init__(self, statements: list[Statement]) -> None:
        self._statements = statements
        self._saved: tuple[Operation, ...] | None = None

    def __bool__(self) -> bool:
        """Whether anything was placed at all."""
        return bool(self._saved) or any(statement.operations for statement in self._statements)

    def undo(self) -> None:
        if self._saved is None:
            self._saved = tuple(operation for one in self._statements for operation in one.operations)
            for statement in self._statements:
                statement.discard()

    def hand_over(self, statement: Statement) -> bool:
        """Let the statement have everything; False, and nothing done, where it cannot be made again."""
        if self._saved is not None:
            return statement.recover(self._saved)
        for one in self._statements:
            for operation in one.operations:
                # As if undone and made again: nothing of the search stays with the task.
                operation.task.last, operation.task.near = None, ""
        statement.merge(*self._statements)
        return True


@dataclass
class Solution:
    """One attempt that would do: what is left of the job, and which domain each sub-job got."""

    placed: Tentative
    pending: PendingTasks
    score: float = 0.0
    domain_of: dict[str, str] = field(default_factory=dict)


@dataclass
class Placement:
    """One sub-job in one domain."""

    placed: Tentative
    left: OrderedTasks


class DomainSearch:
    """The search for one job; what it finds stands in a statement that the caller makes real or leaves."""

    def __init__(
        self, session: Session, job: Job, arguments: PlacingArguments, *, asks_anew: bool = False
    ) -> None:
        self._session = session
        self._job = job
        self._arguments = arguments
        self._asks_anew = asks_anew
        self._bounds = DomainBounds(session, job)

    def place(self, statement: Statement, pending: PendingTasks) -> tuple[str, Solution] | None:
        """Apply the best solution to the statement; its domain and what it decided, or None."""
        session = self._session
        if all(sub_job.nominated for sub_job in pending.sub_jobs):
            promised = self._as_nominated(statement, pending)
            if promised is not None:
                return promised
        gradients = session.gradients_of_job(self._job, session.domains.top)
        possible = self._bounds.of_job(pending)
        for gradient in gradients:
            best = self._best_of(self._those(gradient, possible, are_told=True), pending)
            if best is not None:
                return best if best[1].placed.hand_over(statement) else None
        if not gradients:
            session.trace.of_job(self._job.uid, "no network domain that it allows is large enough for it")
        return None

    def _as_nominated(self, statement: Statement, pending: PendingTasks) -> tuple[str, Solution] | None:
        """The whole job where an earlier cycle freed room for it; None where that no longer works out."""
        session, job = self._session, self._job
        solution = Solution(Tentative([]), pending.copy())
        with session.statement() as attempt:
            while solution.pending:
                sub_job = solution.pending.sub_jobs.pop()
                nominated, tasks = sub_job.nominated, solution.pending.tasks_of[sub_job.uid]
                if not place_as_nominated(session, attempt, job, sub_job, tasks, bound=session.domains.top):
                    return None
                solution.domain_of[sub_job.uid] = nominated
            if not (session.is_ready(job) or session.is_pipelined(job)):
                return None
            statement.merge(attempt)
        return session.domains.common_of(solution.domain_of.values()), solution

    def _those(self, gradient: Sequence[Domain], possible: Mask, *, are_told: bool) -> list[Domain]:
        """The possible domains of a group; of the other ones the trace tells."""
        if possible.all():
            return list(gradient)
        marked = list(zip(gradient, possible[[domain.place for domain in gradient]].tolist(), strict=True))
        if are_told:
            self._bounds.tell([domain for domain, is_possible in marked if not is_possible])
        return [domain for domain, is_possible in marked if is_possible]

    def _best_of(self, group: Sequence[Domain], pending: PendingTasks) -> tuple[str, Solution] | None:
        """The best domain and its solution; of those with a known score the first that will do is enough."""
        if len(group) == 1 and self._session.shortcuts.bounds:
            only = self._try_job(group[0], pending)
            return None if only is None else (group[0].name, only)
        known = self._known_scores(group, pending)
        unknown = [domain for domain, is_open in zip(group, np.isnan(known).tolist(), strict=True) if is_open]
        solutions = {domain.name: s for domain in unknown if (s := self._undone(domain, pending))}
        for domain, _ in best_first(group, known, self._session.domains.tree):
            solution = self._try_job(domain, pending)
            if solution is None:
                continue
            if not solutions and self._session.shortcuts.bounds:
                return domain.name, solution
            solution.placed.undo()
            solutions[domain.name] = solution
            break
        scores = self._scores(solutions)
        best = min(solutions, key=lambda name: (-scores[name], name), default=None)
        return None if best is None else (best, solutions[best])

    def _undone(self, domain: Domain, pending: PendingTasks) -> Solution | None:
        solution = self._try_job(domain, pending)
        if solution is not None:
            solution.placed.undo()
        return solution

    def _known_scores(self, group: Sequence[Domain], pending: PendingTasks) -> Floats:
        """The score each domain would get where that does not depend on how the attempt goes, else NaN.

        It does not for a job of one part where that part can go nowhere below the domain but to the
        domain itself, and where nothing is being released in it: then an attempt succeeds in one go.
        """
        session, job = self._session, self._job
        unknown = np.full(len(group), np.nan)
        if not session.shortcuts.bounds or job.has_policies or self._asks_anew or not group:
            return unknown
        (sub_job,) = pending.sub_jobs
        tasks = pending.tasks_of[sub_job.uid]
        if sub_job.nominated or any([task.is_gated for task in tasks]):
            return unknown
        possible = self._bounds.of_sub_job(sub_job, tasks) & self._bounds.not_failed(sub_job)
        is_known = session.only_choices(job, sub_job, group, possible) & ~self._with_releases(group)
        return np.where(is_known, session.domain_scores_alone(sub_job, group), unknown)

    def _with_releases(self, group: Sequence[Domain]) -> Mask:
        """The domains in which room may be promised that is not there yet."""
        session, releasing = self._session, self._session.nodes.releasing
        if not releasing.any():
            return np.zeros(len(group), dtype=np.bool_)
        if self._job.roster.waiting or not session.dispatch.who.requires_minimums:
            return np.ones(len(group), dtype=np.bool_)
        touched = session.domains.tree.touched_by(np.asarray(releasing.any(axis=1)))
        return touched[[domain.place for domain in group]]

    def _scores(self, solutions: dict[str, Solution]) -> dict[str, float]:
        """How good each domain is for the whole job."""
        if not self._asks_anew or not solutions:
            return {name: solution.score for name, solution in solutions.items()}
        domains = [self._session.domains.by_name[name] for name in solutions]
        whole = SubJob(self._job.uid, self._job.uid, self._job.roster, self._job.topology)
        return self._session.domain_scores(whole, domains)

    def keep(self, domain: str, solution: Solution) -> None:
        """The solution was made real: remember where the job and its sub-jobs lie now."""
        job, domains = self._job, self._session.domains
        job.domain = domains.common(job.domain, domain)
        for uid, chosen in solution.domain_of.items():
            sub_job = job.sub_jobs[uid]
            sub_job.domain = domains.common(sub_job.domain, chosen)
            sub_job.nominated = ""

    def _try_job(self, domain: Domain, pending: PendingTasks) -> Solution | None:
        """The whole job in the domain; what will do is left standing, anything else is undone."""
        session, job = self._session, self._job
        job.fit_errors.clear()
        before = {uid: sub_job.domain for uid, sub_job in job.sub_jobs.items()}
        kept: list[Statement] = []
        solution = Solution(Tentative(kept), pending.copy())
        while solution.pending:
            sub_job = solution.pending.sub_jobs.pop()
            statement = self._place_sub_job(sub_job, solution, domain)
            if statement is None:
                continue
            kept.append(statement)
            if solution.pending.tasks_of[sub_job.uid]:
                solution.pending.sub_jobs.push(sub_job)
            if session.is_ready(job):
                break
        for uid, remembered in before.items():
            job.sub_jobs[uid].domain = remembered
        if solution.placed and (session.is_ready(job) or session.is_pipelined(job)):
            return solution
        solution.placed.undo()
        return None

    def _place_sub_job(self, sub_job: SubJob, solution: Solution, bound: Domain) -> Statement | None:
        """The sub-job in the best domain below the bound that will do; its score is added to the solution."""
        session, tasks = self._session, solution.pending.tasks_of[sub_job.uid]
        nominated = sub_job.nominated
        statement = session.statement()
        if place_as_nominated(session, statement, self._job, sub_job, tasks, bound=bound):
            solution.domain_of[sub_job.uid] = nominated
            return statement
        gradients = session.gradients_of_sub_job(self._job, sub_job, bound)
        if not gradients:
            where = f'domain "{bound.name}" has none that is'
            session.trace.of_job(self._job.uid, f"{where} large enough for all that waits of it together")
        possible, is_first = self._bounds.of_sub_job(sub_job, tasks), not solution.placed
        for gradient in gradients:
            group = self._those(gradient, possible, are_told=self._job.has_policies)
            best = self._best_placement(sub_job, tasks, group, is_first=is_first)
            if best is None:
                continue
            domain, placement, score = best
            if not placement.placed.hand_over(statement):
                return None
            solution.pending.tasks_of[sub_job.uid] = placement.left
            solution.score += score
            solution.domain_of[sub_job.uid] = domain.name
            sub_job.domain = session.domains.common(sub_job.domain, domain.name)
            return statement
        return None

    def _best_placement(
        self, sub_job: SubJob, tasks: OrderedTasks, group: Sequence[Domain], *, is_first: bool
    ) -> tuple[Domain, Placement, float] | None:
        """The best domain of a group, what it came to there, and its score.

        Scores are those of before the attempts. Where they do not depend on which of the domains would
        do, the first one that will do is enough.
        """
        session = self._session
        if is_first:
            group = self._those(group, self._bounds.not_failed(sub_job), are_told=False)
        if self._is_known(sub_job, tasks, group):
            alone = session.domain_scores_alone(sub_job, group)
            for domain, score in best_first(group, alone, session.domains.tree):
                placement = self._try_sub_job(sub_job, tasks, domain, is_first=is_first)
                if placement is not None:
                    if not session.shortcuts.bounds:
                        placement.placed.undo()
                    return domain, placement, score
            return None
        placements: dict[str, Placement] = {}
        for domain in group:
            placement = self._try_sub_job(sub_job, tasks, domain, is_first=is_first)
            if placement is not None:
                placement.placed.undo()
                placements[domain.name] = placement
        if not placements:
            return None
        scores = session.domain_scores(sub_job, [session.domains.by_name[name] for name in placements])
        best = min(placements, key=lambda name: (-scores[name], name))
        return session.domains.by_name[best], placements[best], scores[best]

    def _is_known(self, sub_job: SubJob, tasks: OrderedTasks, group: Sequence[Domain]) -> bool:
        """Whether each domain's score is the same, whichever others of the group would do."""
        session = self._session
        return (
            session.shortcuts.bounds
            and not self._asks_anew
            and not any([task.is_gated for task in tasks])
            and (len(group) == 1 or not session.compares_domains(sub_job))
        )

    def _try_sub_job(
        self, sub_job: SubJob, tasks: OrderedTasks, domain: Domain, *, is_first: bool
    ) -> Placement | None:
        """The sub-job in the domain; what will do is left standing, anything else is undone."""
        session, job, left = self._session, self._job, tasks.copy()
        for uid in sub_job.roster.tasks if job.fit_errors else ():
            job.fit_errors.pop(uid, None)
        statement = session.statement()
        placer = Placer(session, job, sub_job, domain, self._arguments)
        if len(domain.rows) and placer.place(statement, left) and statement.operations:
            return Placement(Tentative([statement]), left)
        statement.discard()
        if is_first:
            self._bounds.note_failure(sub_job, domain)
        return None


def best_first(group: Sequence[Domain], scores: Floats, tree: DomainTree) -> Iterator[tuple[Domain, float]]:
    """Domains from the best to the worst, by name among equals; those without a score are left out."""
    known = np.flatnonzero(~np.isnan(scores))
    names = tree.alphabetical[[group[at].place for at in known.tolist()]]
    for at in known[np.lexsort((names, -scores[known]))].tolist():
        yield group[at], float(scores[at])
