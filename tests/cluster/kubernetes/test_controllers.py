"""The controllers on an API server: Jobs, orders, queues, plain pods, and what happens when writes fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fakes.api import Body, FakeApi
from fakes.client import FakeClient
from hekla.clock import WallClock
from hekla.cluster.kubernetes import KubernetesCluster
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.controllers import ALSO_WATCHED, Controllers
from hekla.controllers import JobController
from hekla.objects import Pod, PodGroup, VolcanoJob

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/x/jobs"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/x/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/x/commands"
PODS = "/api/v1/namespaces/x/pods"
ENDING = Refused(403, "Forbidden", "namespace x is being terminated", causes=["NamespaceTerminating"])
QUOTA = Refused(403, "Forbidden", "exceeded quota: no more pods")


def job(replicas: int = 2, **spec: Any) -> Body:
    container = {
        "name": "main",
        "image": "busybox",
        "command": ["sh", "-c", "train"],
        "env": [{"name": "LEVEL", "value": "7"}],
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "resources": {"requests": {"cpu": "1"}},
    }
    template = {
        "metadata": {"labels": {"team": "blue"}},
        "spec": {
            "restartPolicy": "Never",
            "aFieldOfTomorrow": {"deep": [1, 2]},
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "containers": [container],
        },
    }
    tasks = [{"name": "w", "replicas": replicas, "template": template}]
    return {"spec": {"schedulerName": "volcano", "queue": "default", "tasks": tasks, **spec}}


class Stage:
    """The API server, and somebody who plays scheduler and kubelet."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.leads = True

    def submit(self, name: str, body: Body) -> Body:
        return self.api.put_at(f"{JOBS}/{name}", body)

    def status(self, name: str = "train") -> Body:
        status: Body = self.api.objects[f"{JOBS}/{name}"].get("status", {})
        return status

    def phase(self, name: str = "train") -> str:
        return str(self.status(name).get("state", {}).get("phase", ""))

    @property
    def pods(self) -> dict[str, Body]:
        return self.api.all_in("pods")

    @property
    def groups(self) -> dict[str, Body]:
        return self.api.all_in("podgroups")

    def events(self, reason: str) -> list[str]:
        return [each["message"] for each in self.api.all_in("events").values() if each["reason"] == reason]

    async def until(self, what: Callable[[], object], seconds: float = 5.0) -> None:
        async with asyncio.timeout(seconds):
            while not what():
                await asyncio.sleep(0.01)

    async def settle(self) -> None:
        """Long enough for everything that would happen at once."""
        await asyncio.sleep(0.2)

    async def admit(self) -> None:
        """The scheduler admits every group that waits."""
        await self.until(lambda: self.groups)
        self.api.change_all("podgroups", {"status": {"phase": "Inqueue"}})

    async def run_pods(self, count: int, phase: str = "Running", name: str = "") -> None:
        """The kubelet moves all pods, or one, on to a phase."""
        await self.until(lambda: len([pod for pod in self.pods.values() if _is_there(pod)]) >= count)
        change: Body = {"spec": {"nodeName": "n1"}, "status": {"phase": phase}}
        self.api.change_all("pods", change, lambda pod: not name or pod["metadata"]["name"] == name)

    def let_go(self) -> None:
        """The kubelet has stopped what was deleted."""
        gone = [name for name, pod in self.pods.items() if "deletionTimestamp" in pod["metadata"]]
        for name in gone:
            self.api.remove(Pod, f"x/{name}")


def _is_there(pod: Body) -> bool:
    return "deletionTimestamp" not in pod["metadata"]


@asynccontextmanager
async def standing_alone(stage: Stage) -> AsyncIterator[None]:
    client: Any = FakeClient(stage.api)
    cluster = KubernetesCluster(client, WallClock(), may_write=lambda: stage.leads, also=ALSO_WATCHED)
    cluster.writer.pause = 0.001
    controllers = Controllers(client, cluster, WallClock(), may_write=lambda: stage.leads)
    tasks = [asyncio.create_task(cluster.run()), asyncio.create_task(controllers.run())]
    try:
        yield
        assert not any(task.done() for task in tasks), [task.exception() for task in tasks if task.done()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def play(story: Callable[[Stage], Awaitable[None]], stage: Stage | None = None) -> Stage:
    """Tell a story on a server with the standing queues."""
    stage = stage or Stage(FakeApi())
    for name in ("root", "default"):
        stage.api.put_at(f"{QUEUES}/{name}", {"spec": {"weight": 1}})

    async def told() -> None:
        async with standing_alone(stage):
            await story(stage)

    asyncio.run(told())
    return stage


def test_a_job_gets_a_group_then_pods_then_an_end() -> None:
    async def story(stage: Stage) -> None:
        stage.submit("train", job())
        await stage.until(lambda: stage.phase() == "Pending" and stage.groups)
        await stage.settle()
        assert not stage.pods, "pods are made only once the group is admitted"
        await stage.admit()
        await stage.until(lambda: stage.status().get("pending") == 2)
        await stage.run_pods(2)
        await stage.until(lambda: stage.phase() == "Running")
        assert stage.status()["taskStatusCount"] == {"w": {"phase": {"Running": 2}}}
        await stage.run_pods(2, "Succeeded")
        await stage.until(lambda: stage.phase() == "Completed" and not stage.groups)
        assert stage.status()["succeeded"] == 2
        assert "running" not in stage.status()
        assert stage.status()["taskStatusCount"] == {"w": {"phase": {"Succeeded": 2}}}
        assert [each["status"] for each in stage.status()["conditions"]] == [
            "Pending",
            "Running",
            "Completed",
        ]

    play(story)


def test_the_group_says_what_the_job_needs_and_belongs_to_it() -> None:
    async def story(stage: Stage) -> None:
        made = stage.submit("train", job(3, minAvailable=2))
        await stage.until(lambda: stage.groups)
        (group,) = stage.groups.values()
        assert group["metadata"]["name"] == f"train-{made['metadata']['uid']}"
        assert group["spec"]["minMember"] == 2
        assert group["spec"]["minTaskMember"] == {"w": 3}
        assert group["spec"]["queue"] == "default"
        (owner,) = group["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == ("Job", True, True)

    play(story)


def test_a_pod_carries_the_whole_template_and_what_the_job_adds() -> None:
    volumes = [{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"], "futureField": 1}}]

    async def story(stage: Stage) -> None:
        stage.submit(
            "train", job(1, plugins={"env": [], "svc": []}, volumes=volumes, priorityClassName="high")
        )
        await stage.admit()
        await stage.until(lambda: stage.pods)
        pod = stage.pods["train-w-0"]
        (container,) = pod["spec"]["containers"]
        assert pod["spec"]["aFieldOfTomorrow"] == {"deep": [1, 2]}
        assert container["command"] == ["sh", "-c", "train"]
        names = [each["name"] for each in container["env"]]
        assert names == ["LEVEL", "VK_TASK_INDEX", "VC_TASK_INDEX", "VC_W_HOSTS", "VC_W_NUM"]
        paths = [each["mountPath"] for each in container["volumeMounts"]]
        assert paths == ["/scratch", "/data", "/etc/volcano"]
        assert pod["spec"]["hostname"] == "train-w-0"
        assert pod["spec"]["subdomain"] == "train"
        assert pod["spec"]["priorityClassName"] == "high"
        assert pod["metadata"]["labels"]["team"] == "blue"
        assert pod["metadata"]["annotations"]["volcano.sh/task-index"] == "0"
        (claim,) = stage.api.all_in("persistentvolumeclaims").values()
        assert claim["spec"] == volumes[0]["volumeClaim"]
        assert pod["spec"]["volumes"][1]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        hosts = stage.api.all_in("configmaps")["train-svc"]["data"]
        assert hosts == {"w.host": "train-w-0.train", "VC_W_HOSTS": "train-w-0.train", "VC_W_NUM": "1"}
        assert "train" in stage.api.all_in("services")
        assert "train" in stage.api.all_in("networkpolicies")
        await stage.run_pods(1, "Succeeded")
        await stage.until(lambda: stage.phase() == "Completed")
        await stage.until(lambda: not stage.api.all_in("services"))

    play(story)


def test_a_failed_pod_restarts_the_job_where_a_policy_says_so() -> None:
    async def story(stage: Stage) -> None:
        stage.submit("train", job(policies=[{"event": "PodFailed", "action": "RestartJob"}]))
        await stage.admit()
        await stage.run_pods(2)
        await stage.until(lambda: stage.phase() == "Running")
        before = {pod["metadata"]["uid"] for pod in stage.pods.values()}
        await stage.run_pods(2, "Failed", "train-w-0")
        await stage.until(lambda: stage.phase() == "Restarting")
        await stage.until(lambda: not any(map(_is_there, stage.pods.values())))
        marks = [pod["metadata"]["annotations"] for pod in stage.pods.values()]
        assert all(mark["volcano.sh/controller-out-of-sync"] == "true" for mark in marks)
        stage.let_go()
        await stage.admit()
        await stage.until(lambda: stage.status().get("pending") == 2)
        assert stage.status()["retryCount"] == 1
        assert not before & {pod["metadata"]["uid"] for pod in stage.pods.values()}
        assert stage.pods["train-w-0"]["metadata"]["annotations"]["volcano.sh/job-version"] == "1"

    play(story)


def test_a_job_is_scaled() -> None:
    async def story(stage: Stage) -> None:
        body = stage.submit("train", job(3, minAvailable=1))
        await stage.admit()
        await stage.run_pods(3)
        await stage.until(lambda: stage.status().get("running") == 3)
        body["spec"]["tasks"][0]["replicas"] = 1
        stage.submit("train", {"spec": body["spec"]})
        await stage.until(
            lambda: [name for name, pod in stage.pods.items() if _is_there(pod)] == ["train-w-0"]
        )
        stage.let_go()
        await stage.until(lambda: stage.status().get("running") == 1 and "terminating" not in stage.status())
        (group,) = stage.groups.values()
        assert group["spec"]["minTaskMember"] == {"w": 1}

    play(story)


def test_what_fails_is_undone_told_and_tried_again() -> None:
    async def story(stage: Stage) -> None:
        stage.api.refuse("POST", f"{PODS}$", QUOTA, times=5)
        stage.submit("train", job())
        await stage.admit()
        await stage.until(lambda: len(stage.pods) == 2 and stage.status().get("pending") == 2)
        assert stage.events("FailedCreate") == [str(QUOTA)]

    play(story)


def test_in_a_namespace_that_is_being_deleted_nothing_is_made_told_or_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The server knows first, and says so; from then on nobody asks."""

    async def story(stage: Stage) -> None:
        stage.api.refuse("POST", f"{GROUPS}$", ENDING, times=100)
        stage.submit("train", job())
        plain = {"spec": {"schedulerName": "volcano", "containers": [{"name": "c"}]}}
        stage.api.put_at(f"{PODS}/plain", {**plain, "status": {"phase": "Pending"}})
        await stage.settle()
        asked = _writes_in(stage)
        assert len(asked) <= 3, asked
        gone = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
        stage.api.put_at("/api/v1/namespaces/x", gone)
        await stage.settle()
        stage.submit("late", job())
        await stage.settle()
        assert _writes_in(stage) == asked

    play(story)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def _writes_in(stage: Stage) -> list[tuple[str, str]]:
    return [each for each in stage.api.asked if each[0] != "GET" and "/namespaces/x/" in each[1]]


def test_a_restart_that_could_not_delete_its_pods_is_repeated_whole() -> None:
    async def story(stage: Stage) -> None:
        stage.submit("train", job(policies=[{"event": "PodFailed", "action": "RestartJob"}]))
        await stage.admit()
        await stage.run_pods(2)
        await stage.until(lambda: stage.phase() == "Running")
        stage.api.refuse("DELETE", f"{PODS}/train-w-1$", Refused(403, "Forbidden", "not now"), times=2)
        await stage.run_pods(2, "Failed", "train-w-0")
        await stage.until(lambda: not any(map(_is_there, stage.pods.values())))
        await stage.until(lambda: stage.phase() == "Restarting")
        assert stage.status()["retryCount"] == 1, "an attempt that failed is not counted"
        assert stage.events("FailedDelete") == ["not now"]

    play(story)


def test_a_status_that_could_not_be_written_is_written_later() -> None:
    async def story(stage: Stage) -> None:
        stage.api.refuse("PATCH", f"{JOBS}/train/status", Refused(422, "Invalid", "no"), times=2)
        stage.submit("train", job())
        await stage.until(lambda: stage.phase() == "Pending")
        assert len(stage.groups) == 1

    play(story)


def test_what_nobody_answers_for_is_asked_again_and_nothing_is_made_twice() -> None:
    async def story(stage: Stage) -> None:
        stage.api.refuse("POST", f"{PODS}$", Refused(500, "InternalError", "broken"), times=3)
        stage.submit("train", job(20))
        await stage.admit()
        await stage.until(lambda: stage.status().get("pending") == 20)
        assert not stage.events("FailedCreate")

    play(story)


def test_an_order_suspends_a_job_and_another_resumes_it() -> None:
    def order(stage: Stage, action: str) -> None:
        target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": ""}
        stage.api.put_at(f"{COMMANDS}/{action.lower()}", {"action": action, "target": target})

    async def story(stage: Stage) -> None:
        stage.submit("train", job())
        await stage.admit()
        await stage.run_pods(2)
        await stage.until(lambda: stage.phase() == "Running")
        order(stage, "AbortJob")
        await stage.until(lambda: stage.phase() == "Aborting" and not stage.api.all_in("commands"))
        stage.let_go()
        await stage.until(lambda: stage.phase() == "Aborted" and not stage.pods and not stage.groups)
        order(stage, "ResumeJob")
        await stage.admit()
        await stage.until(lambda: len(stage.pods) == 2)
        assert len(stage.events("CommandIssued")) == 2

    play(story)


def test_queues_are_open_below_root_and_close_with_their_parent() -> None:
    def order(stage: Stage, action: str) -> None:
        target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "lab", "uid": ""}
        stage.api.put_at(f"{COMMANDS}/{action.lower()}", {"action": action, "target": target})

    def states(stage: Stage) -> dict[str, str]:
        return {
            name: queue.get("status", {}).get("state", "")
            for name, queue in stage.api.all_in("queues").items()
        }

    async def story(stage: Stage) -> None:
        stage.api.put_at(f"{QUEUES}/lab", {"spec": {"weight": 1}})
        stage.api.put_at(f"{QUEUES}/lab-a", {"spec": {"weight": 1, "parent": "lab"}})
        await stage.until(lambda: set(states(stage).values()) == {"Open"})
        assert stage.api.objects[f"{QUEUES}/lab"]["spec"]["parent"] == "root"
        stage.submit("train", job(queue="lab-a"))
        await stage.until(lambda: stage.groups)
        order(stage, "CloseQueue")
        await stage.until(lambda: (states(stage)["lab"], states(stage)["lab-a"]) == ("Closed", "Closing"))
        stage.api.remove(VolcanoJob, "x/train")
        stage.api.remove(PodGroup, f"x/{next(iter(stage.groups))}")
        await stage.until(lambda: states(stage)["lab-a"] == "Closed")
        order(stage, "OpenQueue")
        await stage.until(lambda: set(states(stage).values()) == {"Open"})

    play(story)


def test_a_job_that_admission_would_refuse_is_told_why_and_left_alone_until_its_queue_comes() -> None:
    async def story(stage: Stage) -> None:
        stage.submit("train", job(queue="lab"))
        await stage.until(lambda: stage.events("Refused"))
        assert 'no queue "lab"' in stage.events("Refused")[0]
        assert not stage.groups
        stage.api.put_at(f"{QUEUES}/lab", {"spec": {"weight": 1}})
        await stage.until(lambda: stage.groups)

    play(story)


def test_plain_pods_share_the_group_of_their_workload() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
    annotations = {"scheduling.volcano.sh/group-min-member": "3", "volcano.sh/preemptable": "true"}

    def plain(name: str, stage: Stage, **spec: Any) -> None:
        body = {"spec": {"schedulerName": "volcano", "containers": [{"name": "c"}], **spec}}
        meta = {"ownerReferences": [owner]}
        stage.api.put_at(f"{PODS}/{name}", {"metadata": meta, **body, "status": {"phase": "Pending"}})

    async def story(stage: Stage) -> None:
        stage.api.put_at(
            "/apis/apps/v1/namespaces/x/replicasets/web",
            {"metadata": {"uid": "rs", "annotations": annotations}},
        )
        plain("web-1", stage)
        plain("web-2", stage)
        plain("other", stage, schedulerName="default-scheduler")
        await stage.until(
            lambda: all("annotations" in stage.pods[name]["metadata"] for name in ("web-1", "web-2"))
        )
        (group,) = stage.groups.values()
        assert group["metadata"]["name"] == "podgroup-rs"
        assert group["spec"]["minMember"] == 3
        assert group["status"]["phase"] == "Pending"
        assert group["metadata"]["annotations"] == {"volcano.sh/preemptable": "true"}
        assert stage.pods["web-1"]["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "podgroup-rs"
        assert "annotations" not in stage.pods["other"]["metadata"]
        assert [path for method, path in stage.api.asked if "replicasets" in path and method == "GET"] == [
            "/apis/apps/v1/namespaces/x/replicasets/web"
        ]
        stage.api.remove(Pod, "x/web-1")
        await stage.settle()
        assert stage.groups
        stage.api.put_at("/apis/apps/v1/namespaces/x/replicasets/web", {"spec": {"replicas": 0}})
        stage.api.remove(Pod, "x/web-2")
        await stage.until(lambda: not stage.groups)

    play(story)


def test_nothing_is_written_by_who_does_not_lead_and_everything_is_looked_at_by_who_does() -> None:
    stage = Stage(FakeApi())
    stage.leads = False

    async def story(stage: Stage) -> None:
        stage.submit("train", job())
        await stage.settle()
        assert not [each for each in stage.api.asked if each[0] != "GET"]
        stage.leads = True
        await stage.until(lambda: stage.phase() == "Pending")

    play(story, stage)


def test_a_finished_job_is_deleted_when_its_time_has_come() -> None:
    async def story(stage: Stage) -> None:
        stage.submit("train", job(1, ttlSecondsAfterFinished=1))
        await stage.admit()
        await stage.run_pods(1, "Succeeded")
        await stage.until(lambda: f"{JOBS}/train" not in stage.api.objects)

    play(story)


@pytest.mark.parametrize("policies", [[], [{"event": "PodEvicted", "action": "RestartJob"}]], ids=bool)
def test_a_thousand_pods_are_made_side_by_side_from_one_reading_of_the_job(policies: list[Body]) -> None:
    async def story(stage: Stage) -> None:
        stage.submit("train", job(1000, policies=policies))
        await stage.admit()
        await stage.until(lambda: len(stage.pods) == 1000, seconds=30)
        await stage.until(lambda: stage.status().get("pending") == 1000, seconds=30)
        assert stage.api.asked.count(("GET", f"{JOBS}/train")) == 1
        await stage.run_pods(1000)
        await stage.until(lambda: stage.phase() == "Running", seconds=30)

    play(story)


def test_a_change_that_admission_would_refuse_has_no_effect() -> None:
    async def story(stage: Stage) -> None:
        stage.submit("train", job())
        await stage.until(lambda: stage.groups)
        stage.submit("train", {"spec": {"queue": "other", "maxRetry": 9}})
        await stage.until(lambda: stage.events("Refused"))
        await stage.admit()
        await stage.until(lambda: stage.status().get("pending") == 2)
        assert stage.pods["train-w-0"]["metadata"]["labels"]["volcano.sh/queue-name"] == "default"

    play(story)


def test_pods_that_are_wanted_no_longer_are_not_left_behind() -> None:
    async def story(stage: Stage) -> None:
        stage.submit("train", job(300))
        await stage.admit()
        await stage.until(lambda: stage.pods)
        target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": ""}
        stage.api.put_at(f"{COMMANDS}/stop", {"action": "TerminateJob", "target": target})
        await stage.until(lambda: stage.phase() == "Terminated", seconds=20)
        assert not stage.pods
        assert not stage.groups

    play(story)


def test_what_is_refused_again_and_again_is_tried_less_and_less_often() -> None:
    async def story(stage: Stage) -> None:
        stage.api.refuse("POST", f"{GROUPS}$", Refused(403, "Forbidden", "no groups here"), times=99)
        stage.submit("train", job())
        await stage.until(lambda: stage.events("PodGroupError"))
        await stage.settle()
        tries = len([each for each in stage.api.asked if each == ("POST", GROUPS)])
        assert 3 <= tries <= 16, "each wait is twice as long as the one before"

    play(story)


def test_a_job_that_makes_no_sense_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    serve = JobController.job_changed

    def stumble(self: JobController, world: Any, before: Any, after: Any, now: Any) -> Any:
        if after.metadata.name == "bad":
            raise ValueError("unforeseen")
        return serve(self, world, before, after, now)

    monkeypatch.setattr(JobController, "job_changed", stumble)

    async def story(stage: Stage) -> None:
        stage.submit("bad", job())
        stage.submit(
            "train", job(policies=[{"event": "PodPending", "action": "RestartJob", "timeout": "soon"}])
        )
        stage.submit("good", job())
        await stage.until(lambda: stage.phase("good") == "Pending")
        assert not stage.phase("bad")

    play(story)
