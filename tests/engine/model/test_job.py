"""Jobs: counts, roles, sub-jobs, and whether it is worth going on."""

from __future__ import annotations

import numpy as np
import pytest

from hekla.engine.model.diagnosis import (
    Code,
    Diagnosis,
    Objection,
    Reason,
    Refusal,
    count_reasons,
    refused_everywhere,
)
from hekla.engine.model.job import Job, fnv32a
from hekla.engine.model.status import Status
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects.meta import LabelSelector
from hekla.objects.scheduling import SubGroupPolicy
from hekla.testing import JobObjects, PodRole, job, node, pod, queue

REFUSED = Diagnosis(1)


def read(*parts: object) -> Job:
    """The one job of these parts."""
    manifests = [m for part in parts for m in (part.objects if isinstance(part, JobObjects) else [part])]
    snapshot = take_snapshot([queue("default"), node("n1", cpu=99), *manifests])
    [found] = snapshot.jobs.values()
    return found


def failing(written: Job, *names: str) -> Job:
    for task in written.tasks.values():
        if task.name in names:
            written.fit_errors[task.uid] = REFUSED
    return written


def may_continue(written: Job) -> bool:
    return written.may_continue(next(iter(written.sub_jobs.values())))


class TestGoingOnAfterAFailure:
    """Is it worth trying the next task? The rows of the table, in order."""

    def test_a_full_gang_stops(self) -> None:
        assert not may_continue(failing(read(job("a", tasks=3, cpu=1)), "a-0"))

    def test_a_job_of_one_task_stops(self) -> None:
        assert not may_continue(failing(read(job("a", tasks=1, cpu=1)), "a-0"))

    def test_an_elastic_job_goes_on(self) -> None:
        assert may_continue(failing(read(job("a", tasks=3, cpu=1, min_available=2)), "a-0"))

    def test_a_job_with_fewer_tasks_than_its_minimum_stops(self) -> None:
        assert not may_continue(read(job("a", tasks=2, cpu=1, min_available=3)))

    def test_a_job_with_policies_goes_on(self) -> None:
        policy = SubGroupPolicy(name="g", match_label_keys=("rank",), sub_group_size=1)
        written = read(job("a", tasks=3, cpu=1, min_available=1, sub_groups=[policy], labels={"rank": "0"}))
        assert may_continue(written)

    def test_where_roles_add_up_to_more_than_the_minimum_the_other_roles_must_suffice(self) -> None:
        roles = [PodRole("ps", 2, 2, {"cpu": 1}), PodRole("w", 3, 3, {"cpu": 1})]
        assert may_continue(failing(read(job("a", roles=roles, min_available=3)), "a-ps-0"))
        assert not may_continue(failing(read(job("a", roles=roles, min_available=4)), "a-ps-0"))

    def test_a_role_that_failed_below_its_minimum_stops_the_job(self) -> None:
        roles = [PodRole("ps", 1, 1, {"cpu": 1}), PodRole("w", 3, 1, {"cpu": 1})]
        assert not may_continue(failing(read(job("a", roles=roles, min_available=2)), "a-ps-0"))

    def test_a_role_that_has_its_minimum_may_fail(self) -> None:
        roles = [PodRole("w", 3, 1, {"cpu": 1}), PodRole("x", 1, 0, {"cpu": 1})]
        written = read(job("a", roles=roles, min_available=2, running={"n1": 1}))
        assert may_continue(failing(written, "a-w-1"))


class TestRoster:
    """The counts that gang rules read."""

    def test_counts_by_status(self) -> None:
        written = read(
            job(
                "a",
                tasks=8,
                cpu=1,
                min_available=5,
                running={"n1": 2},
                bound={"n1": 1},
                releasing={"n1": 1},
                succeeded=1,
                failed=1,
            )
        )
        roster = written.roster
        assert (roster.ready, roster.waiting, roster.valid, roster.allocated) == (4, 0, 6, 3)
        assert (roster.scheduled, roster.releasing_on_nodes) == (5, 1)
        assert not roster.is_ready
        assert roster.is_starving

    def test_pending_best_effort_tasks_make_a_job_ready_but_not_full(self) -> None:
        written = read(job("a", tasks=1, best_effort=1, cpu=1, min_available=1))
        assert written.roster.is_ready
        assert written.roster.is_starving

    def test_a_promised_task_counts_for_pipelined_alone(self) -> None:
        written = read(job("a", tasks=1, cpu=1))
        [task] = written.tasks.values()
        written.move(task, Status.PIPELINED)
        assert (written.roster.is_ready, written.roster.is_pipelined) == (False, True)
        assert not written.roster.is_starving

    def test_moving_to_and_fro_changes_nothing(self) -> None:
        written = read(job("a", tasks=2, best_effort=1, cpu=1))
        before = [(s, sorted(written.roster.having(s))) for s in Status]
        for task in list(written.tasks.values()):
            for status in (Status.ALLOCATED, Status.BINDING, Status.PENDING):
                written.move(task, status)
        assert [(s, sorted(written.roster.having(s))) for s in Status] == before
        assert written.roster.pending_best_effort == 1


class TestRoles:
    """Minimums per role."""

    ROLES = (PodRole("ps", 1, 1, {"cpu": 1}), PodRole("w", 3, 2, {"cpu": 1}))

    def test_they_bind_only_where_the_gangs_minimum_leaves_room_for_them(self) -> None:
        assert read(job("a", roles=self.ROLES, min_available=3)).checks_roles
        assert not read(job("a", roles=self.ROLES, min_available=2)).checks_roles
        assert not read(job("a", roles=[PodRole("w", 3)], min_available=3)).checks_roles

    def test_valid_ready_and_pipelined_count_different_tasks(self) -> None:
        written = read(job("a", roles=self.ROLES, min_available=3, cpu=1))
        assert (written.roles_valid(), written.roles_ready(), written.roles_pipelined()) == (
            True,
            False,
            False,
        )
        tasks = list(written.tasks.values())
        for task in tasks[:2]:
            written.move(task, Status.ALLOCATED)
        written.move(tasks[2], Status.PIPELINED)
        assert (written.roles_ready(), written.roles_pipelined()) == (False, True)
        written.move(tasks[2], Status.ALLOCATED)
        assert written.roles_ready()

    def test_a_gang_that_runs_without_one_of_its_roles_does_not_run_whole(self) -> None:
        running = {"n1": 3}
        assert read(job("a", roles=[PodRole("w", 3, 1, {"cpu": 1})], running=running)).runs_whole
        assert not read(
            job("a", roles=[PodRole("ps", 0, 1), PodRole("w", 3, 1, {"cpu": 1})], running=running)
        ).runs_whole

    def test_failed_pods_make_a_role_invalid(self) -> None:
        assert not read(job("a", roles=self.ROLES, min_available=3, failed=1)).roles_valid()


class TestSubJobs:
    """Parts of a job with a minimum of their own."""

    POLICY = SubGroupPolicy(name="g", match_label_keys=("rank", "half"), sub_group_size=2, min_sub_groups=2)

    def grouped(self, *labels: dict[str, str], policy: SubGroupPolicy = POLICY) -> Job:
        return read(
            job("a", tasks=0, min_available=1, sub_groups=[policy]),
            *(pod(f"a-{at}", job="a", cpu=1, labels=label) for at, label in enumerate(labels)),
        )

    def test_without_policies_the_one_sub_job_is_the_job(self) -> None:
        written = read(job("a", tasks=2, cpu=1))
        [only] = written.sub_jobs.values()
        assert only.roster is written.roster
        assert only.uid == only.group == "default/a"

    def test_labels_tell_groups_apart(self) -> None:
        written = self.grouped(
            {"rank": "3", "half": "x"}, {"rank": "3", "half": "x"}, {"rank": "b", "half": "x"}
        )
        assert {uid: len(s.roster) for uid, s in written.sub_jobs.items()} == {
            "default/a/g-3-x": 2,
            "default/a/g-b-x": 1,
        }
        first, second = written.sub_jobs.values()
        assert (first.group, first.roster.minimum, first.match_index) == ("default/a/g", 2, 3)
        assert second.match_index == 0
        assert not written.sub_jobs_suffice(lambda s: len(s.roster) >= 2)
        assert written.sub_jobs_suffice(lambda _s: True)

    def test_a_pod_that_lacks_a_label_falls_to_the_default(self) -> None:
        written = self.grouped({"rank": "3"}, {"rank": "3", "half": ""})
        [default] = written.sub_jobs.values()
        assert (default.uid, default.roster.minimum) == ("default/a", 1)

    def test_a_policy_without_keys_matches_nothing(self) -> None:
        written = self.grouped({"rank": "3"}, policy=SubGroupPolicy(name="g"))
        assert list(written.sub_jobs) == ["default/a"]

    def test_a_selector_must_match_too(self) -> None:
        picky = SubGroupPolicy(
            name="g", match_label_keys=("rank",), label_selector=LabelSelector(match_labels={"app": "x"})
        )
        written = self.grouped({"rank": "1"}, {"rank": "1", "app": "x"}, policy=picky)
        assert set(written.sub_jobs) == {"default/a", "default/a/g-1"}
        assert written.sub_jobs["default/a/g-1"].roster.minimum == 1

    def test_a_very_long_name_is_shortened_by_a_hash(self) -> None:
        long = "r" * 129
        written = self.grouped({"rank": long, "half": "x"})
        [uid] = written.sub_jobs
        assert uid == f"default/a/g-{fnv32a(f'{long}-x')}"

    def test_moving_a_task_moves_it_in_both_books(self) -> None:
        written = self.grouped({"rank": "1", "half": "x"}, {"rank": "1", "half": "x"})
        [sub_job] = written.sub_jobs.values()
        task = next(iter(written.tasks.values()))
        written.move(task, Status.ALLOCATED)
        assert (written.roster.ready, sub_job.roster.ready) == (1, 1)
        written.move(task, Status.PENDING)
        assert (written.roster.ready, sub_job.roster.ready) == (0, 0)

    def test_its_priority_is_that_of_its_most_important_task(self) -> None:
        [only] = read(job("a", tasks=2, cpu=1, task_priorities=[2, 7])).sub_jobs.values()
        assert only.priority == 7


class TestDiagnosis:
    """Saying no in two voices: Volcano's and plain."""

    def test_reasons_are_counted_and_sorted_as_text(self) -> None:
        reasons = (
            Reason("Insufficient cpu", 10, "not enough cpu (asked 4, most free 2)"),
            Reason("taint", 2),
        )
        told = Diagnosis(12, reasons)
        assert str(told) == "0/12 nodes are unavailable: 10 Insufficient cpu, 2 taint."
        assert told.plainly() == "0/12 nodes fit: 10 not enough cpu (asked 4, most free 2), 2 taint"

    def test_a_domain_and_a_summary_are_named(self) -> None:
        assert str(Diagnosis(1, (Reason("x", 1),), hypernode="s0")) == (
            "In hyperNode s0: 0/1 nodes are unavailable: 1 x."
        )
        assert str(Diagnosis(0, summary="skipped")) == "skipped"
        assert Diagnosis(3).plainly() == "0/3 nodes fit"

    def test_a_final_refusal_ends_the_list_of_a_node(self) -> None:
        everywhere, first = np.ones(3, dtype=np.bool_), np.array([True, False, False])
        refusals = [
            Refusal("soft", everywhere),
            Refusal("final", first, Code.UNRESOLVABLE),
            Refusal("later", everywhere),
        ]
        counted = {reason.text: reason.count for reason in count_reasons(refusals, everywhere)}
        assert counted == {"soft": 3, "final": 1, "later": 2}

    @pytest.mark.parametrize(
        ("code", "expected"), [(Code.UNSCHEDULABLE, False), (Code.ERROR, False), (Code.UNRESOLVABLE, True)]
    )
    def test_one_reason_for_all_nodes(self, code: Code, expected: bool) -> None:
        told = refused_everywhere(Objection("no claim", code=code), 2)
        assert str(told) == "0/2 nodes are unavailable: 2 no claim."
        assert told.unresolvable is not None
        assert told.unresolvable.tolist() == [expected] * 2
