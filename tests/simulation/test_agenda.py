"""What is planned for pods that begin together, and becomes of them one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hekla.objects import Pod
from hekla.objects.pod import PodSpec
from hekla.simulation.agenda import Agenda
from hekla.simulation.jobs import SimJob, SimPod
from hekla.simulation.run import Ending
from hekla.simulation.workloads import NodeFails, Restart
from simulation.plays import PLAIN, job, node, play


def gang(pods: int) -> list[SimPod]:
    whole = SimJob("default/g", 0, None, Restart.POD, None, pods)
    return [SimPod(whole, number, PodSpec(), 0, 10.0, Pod(), f"default/g-{number}") for number in range(pods)]


class Ends:
    """Remembers of which pods it heard."""

    def __init__(self, agenda: Agenda) -> None:
        self.agenda = agenda
        self.seen: list[tuple[float, int]] = []

    def end(self, pods: Iterable[SimPod]) -> None:
        for pod in pods:
            self.seen.append((self.agenda.now, pod.number))
            self.agenda.drop([pod])

    def pass_to(self, moment: float) -> None:
        while (due := self.agenda.next_due()) <= moment:
            self.agenda.move_to(due)
            self.agenda.happen()


def test_what_is_planned_for_pods_together_holds_for_those_for_which_nothing_else_is():
    agenda, pods = Agenda(0.0), gang(4)
    ends = Ends(agenda)
    agenda.plan_for(pods, 10.0, ends.end)
    agenda.drop([pods[0]])
    agenda.plan_for([pods[2]], 5.0, ends.end)
    ends.pass_to(100.0)
    assert ends.seen == [(5.0, 2), (10.0, 1), (10.0, 3)]


def test_what_happens_to_a_pod_may_end_what_was_planned_for_the_next():
    agenda, pods = Agenda(0.0), gang(3)
    ends = Ends(agenda)

    def end_one_and_drop_the_rest(some: Iterable[SimPod]) -> None:
        for pod in some:
            ends.end([pod])
            agenda.drop(pods)

    agenda.plan_for(pods, 10.0, end_one_and_drop_the_rest)
    ends.pass_to(100.0)
    assert ends.seen == [(10.0, 0)]


def test_plans_for_pods_that_were_all_dropped_do_not_keep_time_going():
    agenda, pods = Agenda(0.0), gang(2)
    agenda.plan_for(pods, 10.0, Ends(agenda).end)
    assert agenda.has_reason_to_go_on
    agenda.drop(pods)
    agenda.drop(pods)
    assert not agenda.has_reason_to_go_on
    assert agenda.next_due() == math.inf


def test_a_pod_of_a_gang_that_goes_with_its_node_leaves_the_ends_of_the_others_alone():
    run = play(
        [job("g", 0, 100, pods=3, cpu=4)],
        [node("n1"), node("n2"), node("n3")],
        conf=PLAIN,
        faults=[NodeFails(40, "n2", for_seconds=10)],
    )
    runs = run.pod_runs
    assert list(zip(runs.began.tolist(), runs.ended.tolist(), runs.ending.tolist(), strict=True)) == [
        (0, 40, Ending.LOST),
        (0, 100, Ending.DONE),
        (0, 100, Ending.DONE),
        (50, 150, Ending.DONE),
    ]
    assert runs.kept.tolist() == [0, 100, 100, 100]
