"""What of a cluster a scheduler looks at."""

from __future__ import annotations

from msgspec.structs import replace

from hekla.cluster.store import relevant
from hekla.objects import Pod
from hekla.testing.builders import job, node


def test_pods_of_others_count_where_they_run_and_not_while_they_wait() -> None:
    web = job("web", tasks=1, running={"n1": 1})
    foreign = [replace(pod, spec=replace(pod.spec, scheduler_name="other")) for pod in web.pods]
    waiting = [replace(pod, spec=replace(pod.spec, scheduler_name="other")) for pod in job("idle").pods]
    found = relevant([node("n1"), *foreign, *waiting, *job("mine").objects], ("volcano",))
    assert [pod.metadata.name for pod in found if isinstance(pod, Pod)] == ["web-0", "mine-0"]


def test_of_two_objects_with_one_name_the_last_counts() -> None:
    (found,) = relevant([node("n1", cpu=1), node("n1", cpu=9)], ())
    assert found == node("n1", cpu=9)
