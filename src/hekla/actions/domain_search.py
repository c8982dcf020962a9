"""Domain search: try a job in one network domain after another, and take the best that will do.

Every trial is made for real in the session and then undone; the best one is made again. Groups
of domains of equal preference (gradients) are tried in order, the closest networks first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hekla.actions.nomination import place_as_nominated
from hekla.actions.placing import Placer, PlacingWishes
from hekla.actions.worksheet import Worksheet
from hekla.framework.orders import TaskLine
from hekla.framework.session import Session
from hekla.framework.statement import Operation, Statement
from hekla.ledger.domains import Domain
from hekla.model.job import Job, SubJob


@dataclass
class Solution:
    """One trial that would do: what to do again, what is left, and which domain each sub-job got."""

    operations: tuple[Operation, ...]
    worksheet: Worksheet
    score: float
    domain_of: dict[str, str] = field(default_factory=dict)


@dataclass
class Trial:
    """One sub-job in one domain."""

    operations: tuple[Operation, ...]
    left: TaskLine


class DomainSearch:
    """The search for one job; `found` is what the caller makes real or leaves."""

    def __init__(self, session: Session, job: Job, wishes: PlacingWishes, *, asks_anew: bool = False) -> None:
        self._session = session
        self._job = job
        self._wishes = wishes
        self._asks_anew = asks_anew

    def place(self, statement: Statement, worksheet: Worksheet) -> tuple[str, Solution] | None:
        """Apply the best solution to the statement; its domain and what it decided, or None."""
        session = self._session
        if all(sub_job.nominated for sub_job in worksheet.sub_jobs):
            promised = self._as_nominated(statement, worksheet)
            if promised is not None:
                return promised
        gradients = session.gradients_of_job(self._job, session.domains.top)
        for gradient in gradients:
            solutions = self._solutions(self._with_room(gradient, worksheet), worksheet)
            if solutions:
                scores = self._scores(solutions)
                best = min(solutions, key=lambda name: (-scores[name], name))
                if not statement.recover(solutions[best].operations):
                    return None
                return best, solutions[best]
        if not gradients:
            session.story.of_job(self._job.uid, "no network domain that it allows is large enough for it")
        return None

    def _as_nominated(self, statement: Statement, worksheet: Worksheet) -> tuple[str, Solution] | None:
        """The whole job where an earlier cycle freed room for it; None where that no longer works out."""
        session, job = self._session, self._job
        solution = Solution((), worksheet.copy(), 0.0)
        with session.statement() as attempt:
            while solution.worksheet:
                sub_job = solution.worksheet.sub_jobs.pop()
                nominated, tasks = sub_job.nominated, solution.worksheet.tasks_of[sub_job.uid]
                if not place_as_nominated(session, attempt, job, sub_job, tasks, bound=session.domains.top):
                    return None
                solution.domain_of[sub_job.uid] = nominated
            if not (session.is_ready(job) or session.is_pipelined(job)):
                return None
            statement.merge(attempt)
        return session.domains.common_of(solution.domain_of.values()), solution

    def _solutions(self, gradient: list[Domain], worksheet: Worksheet) -> dict[str, Solution]:
        """What would do, by domain; where scores are known before trying, the first that does is enough."""
        scores = self._scores_known(gradient, worksheet)
        if scores is None:
            return {domain.name: s for domain in gradient if (s := self._try_job(domain, worksheet))}
        for domain in sorted(gradient, key=lambda domain: (-scores[domain.name], domain.name)):
            solution = self._try_job(domain, worksheet)
            if solution is not None:
                return {domain.name: solution}
        return {}

    def _scores_known(self, gradient: list[Domain], worksheet: Worksheet) -> dict[str, float] | None:
        """The score each domain would get, where that does not depend on how the trial goes.

        That is so for a job of one part that has just one domain to go to in each, and where nothing
        is being released: then every trial that succeeds does so in one go.
        """
        session, job = self._session, self._job
        if not session.shortcuts.known_scores or job.has_policies or self._asks_anew:
            return None
        if session.nodes.releasing.any():
            return None
        (sub_job,) = worksheet.sub_jobs
        scores: dict[str, float] = {}
        for domain in gradient:
            if session.gradients_of_sub_job(job, sub_job, domain) != [[domain]]:
                return None
            scores |= session.domain_scores(sub_job, [domain])
        return scores

    def _with_room(self, gradient: list[Domain], worksheet: Worksheet) -> list[Domain]:
        """The domains in which what will be idle could hold as many of the job's tasks as it lacks."""
        session, roster = self._session, self._job.roster
        if not session.shortcuts.upper_bounds:
            return gradient
        missing = self._job.minimum - roster.ready - roster.waiting - roster.pending_best_effort
        vectors = [task.vector for tasks in worksheet.tasks_of.values() for task in tasks]
        if missing <= 0 or len(vectors) < missing or not session.requires_minimums:
            return gradient
        least = np.sort(np.stack(vectors), axis=0)[:missing].sum(axis=0)
        future = np.maximum(session.nodes.future, 0)
        hopeful = [domain for domain in gradient if (least <= future[domain.nodes].sum(axis=0)).all()]
        for name in sorted({d.name for d in gradient} - {d.name for d in hopeful}):
            session.story.of_job(self._job.uid, f'domain "{name}" has too little room for the gang')
        return hopeful

    def _scores(self, solutions: dict[str, Solution]) -> dict[str, float]:
        """How good each domain is for the whole job."""
        if not self._asks_anew:
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

    def _try_job(self, domain: Domain, worksheet: Worksheet) -> Solution | None:
        session, job = self._session, self._job
        job.fit_errors.clear()
        before = {uid: sub_job.domain for uid, sub_job in job.sub_jobs.items()}
        solution = Solution((), worksheet.copy(), 0.0)
        kept: list[Statement] = []
        while solution.worksheet:
            sub_job = solution.worksheet.sub_jobs.pop()
            statement = self._place_sub_job(sub_job, solution, domain)
            if statement is None:
                continue
            kept.append(statement)
            if solution.worksheet.tasks_of[sub_job.uid]:
                solution.worksheet.sub_jobs.push(sub_job)
            if session.is_ready(job):
                break
        for uid, remembered in before.items():
            job.sub_jobs[uid].domain = remembered
        solution.operations = tuple(operation for statement in kept for operation in statement.save())
        will_do = bool(solution.operations) and (session.is_ready(job) or session.is_pipelined(job))
        for statement in kept:
            statement.discard()
        return solution if will_do else None

    def _place_sub_job(self, sub_job: SubJob, solution: Solution, bound: Domain) -> Statement | None:
        """The sub-job in the best domain below the bound that will do; its score is added to the solution."""
        session, tasks = self._session, solution.worksheet.tasks_of[sub_job.uid]
        nominated = sub_job.nominated
        statement = session.statement()
        if place_as_nominated(session, statement, self._job, sub_job, tasks, bound=bound):
            solution.domain_of[sub_job.uid] = nominated
            return statement
        gradients = session.gradients_of_sub_job(self._job, sub_job, bound)
        if not gradients:
            where = f'domain "{bound.name}" has none that is'
            session.story.of_job(self._job.uid, f"{where} large enough for all that waits of it together")
        for gradient in gradients:
            trials = {
                domain.name: t for domain in gradient if (t := self._try_sub_job(sub_job, tasks, domain))
            }
            if not trials:
                continue
            scores = session.domain_scores(sub_job, [session.domains.by_name[name] for name in trials])
            best = min(trials, key=lambda name: (-scores[name], name))
            if not statement.recover(trials[best].operations):
                return None
            solution.worksheet.tasks_of[sub_job.uid] = trials[best].left
            solution.score += scores[best]
            solution.domain_of[sub_job.uid] = best
            sub_job.domain = session.domains.common(sub_job.domain, best)
            return statement
        return None

    def _try_sub_job(self, sub_job: SubJob, tasks: TaskLine, domain: Domain) -> Trial | None:
        job, left = self._job, tasks.copy()
        for uid in sub_job.roster.tasks:
            job.fit_errors.pop(uid, None)
        with self._session.statement() as statement:
            placer = Placer(self._session, job, sub_job, domain, self._wishes)
            if domain.nodes.any() and placer.place(statement, left) and statement.operations:
                return Trial(statement.save(), left)
        return None
