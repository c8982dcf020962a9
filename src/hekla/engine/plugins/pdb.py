"""Pdb: no pod is evicted beyond what a PodDisruptionBudget allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hekla.engine.framework.orders import by_name, least_important_first
from hekla.engine.framework.plugin import Plugin, Resolve
from hekla.engine.framework.points import PREEMPTABLE, RECLAIMABLE, VICTIM_TASKS, answers
from hekla.engine.model.task import Task
from hekla.objects import PodDisruptionBudget
from hekla.objects.meta import is_empty, matches


class Pdb(Plugin):
    """As in Volcano, it nominates for shuffle every labelled task that it would let go."""

    name = "pdb"
    resolve = Resolve.HARDENING

    def on_open(self) -> None:
        self.budgets: dict[str, list[PodDisruptionBudget]] = defaultdict(list)
        for budget in self.session.snapshot.all_of(PodDisruptionBudget):
            if not is_empty(budget.spec.selector):
                self.budgets[budget.metadata.namespace].append(budget)

    @answers(PREEMPTABLE)
    @answers(RECLAIMABLE)
    def within_their_budgets_for(self, _initiator: Task, candidates: Sequence[Task]) -> list[Task]:
        return self.within_their_budgets(candidates)

    @answers(VICTIM_TASKS)
    def least_important_within_their_budgets(self, running: Sequence[Task]) -> list[Task]:
        return self.within_their_budgets(least_important_first(self.session, by_name(running)))

    def within_their_budgets(self, candidates: Sequence[Task]) -> list[Task]:
        """Labelled tasks whose budgets allow one more disruption; those refused use up their budgets, too."""
        left: dict[str, int] = {}
        victims: list[Task] = []
        for task in candidates:
            drawn_on = [
                self._draw(budget, left)
                for budget in self.budgets.get(task.namespace, ())
                if covers(budget, task)
            ]
            if task.pod.metadata.labels and all(drawn_on):
                victims.append(task)
        return victims

    def _draw(self, budget: PodDisruptionBudget, left: dict[str, int]) -> bool:
        """Take one disruption; False where there was none left."""
        left[budget.key] = left.get(budget.key, budget.status.disruptions_allowed) - 1
        return left[budget.key] >= 0


def covers(budget: PodDisruptionBudget, task: Task) -> bool:
    """Does the budget speak of the pod? One that is being disrupted already was counted before."""
    labels = task.pod.metadata.labels
    return (
        bool(labels)
        and task.name not in budget.status.disrupted_pods
        and matches(budget.spec.selector, labels)
    )
