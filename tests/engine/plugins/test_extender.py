"""Stories of the extender: what a service is asked, and what its answers and its absence come to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from hekla.conf import read_arguments
from hekla.engine.framework.points import Vote
from hekla.engine.framework.session import Session
from hekla.engine.model.diagnosis import Code
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.plugins.extender import Extender
from hekla.engine.plugins.extender.messages import CallFailed, post
from hekla.exchange import LARGEST_ANSWER
from hekla.testing import Story, check_plugin, job, node, queue, session_of
from hekla.testing import plugin as entry

Service = Callable[[str, dict[str, Any]], object]
"""Answers a verb and a question with something that JSON can say, or with bytes; None is away."""

VERBS = {
    f"extender.{key}Verb": key
    for key in (
        *("onSessionOpen", "onSessionClose", "predicate", "prioritize", "preemptable", "reclaimable"),
        *("queueOverused", "jobEnqueueable", "jobEnqueued", "jobReady", "allocateFunc", "deallocateFunc"),
    )
}
PREFIX = "http://service/volcano"


def away(verb: str, question: dict[str, Any]) -> None:
    return None


def silent(verb: str, question: dict[str, Any]) -> object:
    """A service that agrees with everything."""
    return {"nodeScore": {}} if verb == "prioritize" else {}


def extender(service: Service) -> type[Extender]:
    """The plugin with a service in the same process."""

    def ask(url: str, body: bytes, timeout: float) -> bytes:
        assert timeout > 0
        answer = service(url.removeprefix(f"{PREFIX}/"), json.loads(body))
        if answer is None:
            raise CallFailed(f"{url} is away")
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    return type("InProcess", (Extender,), {"transport": staticmethod(ask)})


class Stage:
    """Three nodes, a job of two tasks that wait and one that runs; every call is written down."""

    def __init__(self, service: Service, *verbs: str, **arguments: Any) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

        def listening(verb: str, question: dict[str, Any]) -> object:
            self.calls.append((verb, question))
            return service(verb, question)

        told = {f"extender.{verb}Verb": verb for verb in verbs} | {"extender.urlPrefix": PREFIX}
        told |= {f"extender.{key}": value for key, value in arguments.items()}
        self.session: Session = session_of(
            *(node(name, gpu=1) for name in ("n1", "n2", "n3")),
            job("train", tasks=3, cpu=1, gpu=1, min_available=1, running={"n3": 1}),
            job("plain", tasks=1, cpu=1),
            tiers=[[entry("extender", told)]],
            plugins=[extender(listening)],
        )
        self.plugin: Any = self.session.plugins[0]

    def task(self, name: str = "train-1") -> Task:
        return next(task for task in self.session.tasks if task.name == name)

    def put(self, name: str = "train-1", on: int = 0) -> bool:
        return self.session.put(self.task(name), on, Status.ALLOCATED)

    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.calls]

    def scores(self, name: str = "train-1") -> list[float]:
        task, among = self.task(name), np.array([True, True, False])
        return self.session.scoring.class_of(task).scores_of(task, among).tolist()

    def verdicts(self, name: str = "train-1") -> list[tuple[str, Code, list[bool]]]:
        given = self.plugin.refuse_nodes(self.task(name)) or []
        return [(refusal.reason, refusal.code, refusal.nodes.tolist()) for refusal in given]


class TestWhatIsAsked:
    def test_nothing_is_asked_without_a_verb(self) -> None:
        stage = Stage(away)
        assert stage.session.scoring.open_nodes(stage.task()).all()
        assert stage.scores() == [0, 0, 0]
        assert stage.put()
        stage.session.take_back(stage.task())
        assert stage.session.is_ready(stage.session.jobs["default/train"])
        stage.plugin.on_close()
        assert stage.calls == []

    def test_an_open_session_is_told_whole(self) -> None:
        stage = Stage(silent, "onSessionOpen", "onSessionClose")
        stage.plugin.on_close()
        (opened, facts), closed = stage.calls
        assert (opened, closed) == ("onSessionOpen", ("onSessionClose", {}))
        assert sorted(facts) == ["Jobs", "NodeList", "Nodes", "Queues"]
        assert facts["NodeList"] == ["n1", "n2", "n3"]
        assert sorted(facts["Jobs"]) == ["default/plain", "default/train"]
        assert facts["Queues"]["default"]["Weight"] == 1

    def test_tasks_and_nodes_carry_volcanos_names(self) -> None:
        stage = Stage(silent, "predicate")
        stage.verdicts()
        question = stage.calls[2][1]
        task, machine = question["task"], question["node"]
        assert task.pop("Pod")["metadata"]["name"] == "train-1"
        request = {"MilliCPU": 1000, "Memory": 0, "ScalarResources": {"nvidia.com/gpu": 1000, "pods": 1}}
        assert task == {
            "UID": "default-train-1",
            "Name": "train-1",
            "Namespace": "default",
            "Job": "default/train",
            "TaskRole": "",
            "NodeName": "",
            "Priority": 1,
            "Status": "Pending",
            "Resreq": request,
            "InitResreq": request,
        }
        assert machine["Name"] == machine["Node"]["metadata"]["name"] == "n3"
        assert machine["Used"] == request
        assert machine["Idle"]["MilliCPU"] == 3000
        assert machine["Capacity"]["ScalarResources"] == {"nvidia.com/gpu": 1000, "pods": 110}

    def test_pods_without_a_managed_resource_are_not_asked_about(self) -> None:
        verbs = ("predicate", "prioritize", "preemptable", "reclaimable", "allocateFunc", "deallocateFunc")
        stage = Stage(away, *verbs, managedResources=["nvidia.com/gpu"])
        plain, runs = stage.task("plain-0"), stage.task("train-0")
        assert stage.verdicts("plain-0") == []
        assert stage.scores("plain-0") == [0, 0, 0]
        assert stage.plugin.preemptable(plain, [runs]) is None
        assert stage.plugin.reclaimable(plain, [runs]) is None
        assert stage.put("plain-0")
        stage.session.take_back(plain)
        assert stage.calls == []
        assert stage.verdicts("train-1") != []


class TestAnswers:
    def test_a_message_keeps_the_task_off_a_node(self) -> None:
        said = {"n1": {}, "n2": {"status": "no licence", "code": 2}, "n3": {"errorMessage": "too hot"}}
        stage = Stage(lambda _, question: said[question["node"]["Name"]], "predicate")
        assert stage.verdicts() == [
            ("no licence", Code.UNSCHEDULABLE, [False, True, False]),
            ("too hot", Code.ERROR, [False, False, True]),
        ]

    @pytest.mark.parametrize(("code", "meant"), [(0, 1), (1, 1), (2, 2), (3, 3), (7, 1), (-1, 1)])
    def test_a_code_that_means_nothing_is_an_error(self, code: int, meant: int) -> None:
        stage = Stage(lambda *_: {"status": "no", "code": code}, "predicate")
        assert stage.verdicts() == [("no", Code(meant), [True, True, True])]

    def test_scores_are_added_as_they_are_and_nodes_that_are_not_named_get_none(self) -> None:
        stage = Stage(lambda *_: {"nodeScore": {"n1": 30, "n2": 5, "other": 7}}, "prioritize")
        assert stage.scores() == [30, 5, 0]
        ((_, question),) = stage.calls
        assert [machine["Name"] for machine in question["nodes"]] == ["n1", "n2"]

    def test_victims_are_those_of_the_candidates_that_the_service_names(self) -> None:
        named = [{"UID": "default-train-0"}, {"UID": "stranger"}]
        for verb in ("preemptable", "reclaimable"):
            for vote, expected in ((1, ["train-0"]), (-1, ["train-0"]), (0, None)):
                stage = Stage(lambda *_, vote=vote: {"status": vote, "victims": named}, verb)
                runs = [stage.task("train-0"), stage.task("plain-0")]
                victims = getattr(stage.plugin, verb)(stage.task(), runs)
                assert (victims and [task.name for task in victims]) == expected

    def test_votes_and_yeses_are_taken_as_given(self) -> None:
        stage = Stage(silent)
        train, default = stage.session.jobs["default/train"], stage.session.queues["default"]
        for said, vote in ((5, Vote.PERMIT), (0, Vote.ABSTAIN), (-1, Vote.REJECT)):
            stage = Stage(lambda *_, said=said: {"status": said}, "jobEnqueueable")
            assert stage.plugin.may_be_admitted(train) is vote
            words = ["extender: the service does not admit it"] if vote is Vote.REJECT else []
            assert stage.session.trace.said_of("default/train") == words
        for said in (True, False):
            assert (
                Stage(lambda *_, said=said: {"overused": said}, "queueOverused").plugin.has_had_its_share(
                    default
                )
                is said
            )
            assert Stage(lambda *_, said=said: {"status": said}, "jobReady").plugin.may_start(train) is said

    def test_an_event_may_be_refused_and_then_nothing_has_happened(self) -> None:
        stage = Stage(lambda *_: {"errorMessage": "no licence"}, "allocateFunc", "deallocateFunc")
        before = stage.session.fingerprint()
        assert not stage.put()
        assert stage.session.fingerprint() == before
        assert stage.verbs() == ["allocateFunc", "deallocateFunc"]
        refused = ': train-1: plugin "extender" objects to node "n1": no licence'
        notes = [str(note) for note in stage.session.trace.jobs["default/train"]]
        assert notes == [refused, "extender: train-1: no licence"]


class TestAbsence:
    """What the plugin says when the service cannot be asked: where that may be ignored, and where not."""

    @pytest.mark.parametrize(
        "answer", [None, b"not json", b"[]", b'{"status": [], "overused": 1, "nodeScore": 3}']
    )
    @pytest.mark.parametrize("ignorable", [True, False])
    def test_every_question_has_an_answer_of_its_own(self, answer: object, ignorable: bool) -> None:
        verbs = ("predicate", "preemptable", "reclaimable", "queueOverused", "jobEnqueueable", "jobReady")
        stage = Stage(lambda *_: answer, *verbs, ignorable=ignorable)
        train, default = stage.session.jobs["default/train"], stage.session.queues["default"]
        runs = [stage.task("train-0")]
        codes = [code for _, code, nodes in stage.verdicts() if all(nodes)]
        assert codes == ([] if ignorable else [Code.ERROR])
        assert stage.plugin.preemptable(stage.task(), runs) == []
        assert stage.plugin.reclaimable(stage.task(), runs) == []
        assert stage.plugin.may_be_admitted(train) is (Vote.PERMIT if ignorable else Vote.REJECT)
        assert stage.plugin.has_had_its_share(default) is not ignorable
        assert stage.plugin.may_start(train) is not ignorable

    def test_a_job_that_was_admitted_is_told_into_the_void(self) -> None:
        stage = Stage(away, "jobEnqueued")
        stage.plugin.was_admitted(stage.session.jobs["default/train"])
        assert stage.verbs() == ["jobEnqueued"]

    def test_a_session_that_cannot_be_opened_leaves_the_service_out(self) -> None:
        verbs = ("onSessionOpen", "predicate", "prioritize", "jobReady", "allocateFunc", "onSessionClose")
        stage = Stage(away, *verbs)
        assert stage.session.scoring.open_nodes(stage.task()).all()
        assert stage.put()
        stage.plugin.on_close()
        assert stage.verbs() == ["onSessionOpen", "onSessionClose"]

    def test_a_session_that_may_be_ignored_goes_on_asking(self) -> None:
        stage = Stage(away, "onSessionOpen", "predicate", ignorable=True)
        assert stage.session.scoring.open_nodes(stage.task()).all()
        assert stage.verbs() == ["onSessionOpen", *["predicate"] * 3]

    @pytest.mark.parametrize("answer", [None, {}, {"nodeScore": {"n1": 3}, "errorMessage": "not today"}])
    def test_without_scores_no_node_is_chosen(self, answer: object) -> None:
        stage = Stage(lambda *_: answer, "prioritize")
        assert stage.scores() == [0, 0, 0]
        assert not stage.put()
        assert stage.put()  # tried again with a single candidate, no extender is asked
        stage = Stage(lambda *_: answer, "prioritize", ignorable=True)
        assert stage.scores() == [0, 0, 0]
        assert stage.put()

    def test_an_event_that_cannot_be_told_undoes_the_placement_unless_it_may_be_ignored(self) -> None:
        assert not Stage(away, "allocateFunc").put()
        assert Stage(away, "allocateFunc", ignorable=True).put()


STORIES = [
    Story(
        "a task goes where the service wants it",
        nodes=[node("n1"), node("n2"), node("n3")],
        jobs=[job("train", tasks=1, cpu=1)],
        tiers=[
            "gang",
            [entry("extender", {"extender.urlPrefix": PREFIX, "extender.prioritizeVerb": "prioritize"})],
        ],
        plugins=[extender(lambda *_: {"nodeScore": {"n2": 5}})],
        expect={"train": {"n2": 1}},
    ),
    Story(
        "a service that is away and must be asked keeps tasks pending",
        nodes=[node("n1"), node("n2")],
        jobs=[job("train", tasks=1, cpu=1)],
        tiers=[
            "gang",
            [entry("extender", {"extender.urlPrefix": PREFIX, "extender.prioritizeVerb": "prioritize"})],
        ],
        plugins=[extender(away)],
        expect={"train": "pending"},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_extender(story: Story) -> None:
    assert story.play() == story.expect


class TestArguments:
    @pytest.mark.parametrize("value", ["soon", "0s", "-1s", 5])
    def test_a_timeout_that_is_none_is_told_and_one_second_stays(self, value: object) -> None:
        arguments, mistakes = read_arguments(Extender.Arguments, {"extender.httpTimeout": value}, "extender")
        assert arguments.timeout == "1s"
        assert len(mistakes) == 1

    def test_a_prefix_and_a_verb_meet_with_one_slash(self) -> None:
        asked: list[str] = []

        def ask(url: str, body: bytes, timeout: float) -> bytes:
            asked.append(f"{url} in {timeout}")
            return b"{}"

        told = {
            "extender.urlPrefix": "https://service/",
            "extender.onSessionOpenVerb": "/open",
            "extender.httpTimeout": "250ms",
        }
        session_of(
            queue("default"),
            tiers=[[entry("extender", told)]],
            plugins=[type("Noting", (Extender,), {"transport": staticmethod(ask)})],
        )
        assert asked == ["https://service/open in 0.25"]


def test_it_keeps_the_contract_of_plugins() -> None:
    def service(verb: str, question: dict[str, Any]) -> object:
        if verb == "predicate" and question["node"]["Name"] == "n1":
            return {"status": "no licence", "code": 2}
        return {"nodeScore": {"n0": 3, "large": 7}} if verb == "prioritize" else {}

    check_plugin(extender(service), {**VERBS, "extender.urlPrefix": PREFIX})
    check_plugin(Extender)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/missing":
            self._answer(404, b"{}")
        elif self.path == "/moved":
            self._answer(302, b"")
        elif self.path == "/large":
            self._answer(200, b" " * (LARGEST_ANSWER + 1))
        elif self.path == "/hang":
            self.server.released.wait(10)  # type: ignore[attr-defined]
        elif self.path == "/trickle":
            self.send_response(200)
            self.end_headers()
            while not self.server.released.wait(0.02):  # type: ignore[attr-defined]
                self.wfile.write(b" ")
        else:
            self._answer(200, json.dumps({"path": self.path, "got": json.loads(body)}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Quiet."""


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args: object) -> None:
        """Clients that hang up are part of the test."""


@contextmanager
def serving() -> Iterator[str]:
    with QuietServer(("127.0.0.1", 0), Handler) as server:
        server.released = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.released.set()  # type: ignore[attr-defined]
            server.shutdown()
            thread.join(5)


def test_a_real_service_is_asked_over_http_within_bounds() -> None:
    with serving() as address:
        answer = json.loads(post(f"{address}/a/b?c=d", b'{"task": 1}', 5.0))
        assert answer == {"path": "/a/b?c=d", "got": {"task": 1}}
        for path, timeout, said in (
            ("missing", 5.0, "answered 404"),
            ("moved", 5.0, "answered 302"),
            ("large", 5.0, "answered more than 10 MB"),
            ("hang", 0.2, "gave no answer within 0.2 s"),
            ("trickle", 0.2, "gave no answer within 0.2 s"),
        ):
            with pytest.raises(CallFailed, match=said):
                post(f"{address}/{path}", b"{}", timeout)
    with pytest.raises(CallFailed, match=r"cannot be reached: .*refused"):
        post(address, b"{}", 1.0)


@pytest.mark.parametrize("url", ["", "/predicate", "ftp://host/x", "http:///x", "http://host:port/x"])
def test_an_address_that_is_none_is_an_error_of_the_call(url: str) -> None:
    with pytest.raises(CallFailed):
        post(url, b"{}", 1.0)


def test_a_cycle_with_a_real_service_binds_where_it_says() -> None:
    class Picky(Handler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            refuses = question["node"]["Name"] != "n2"
            self._answer(200, json.dumps({"status": "not this one" if refuses else ""}).encode())

    with QuietServer(("127.0.0.1", 0), Picky) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        told = {
            "extender.urlPrefix": f"http://127.0.0.1:{server.server_address[1]}",
            "extender.predicateVerb": "predicate",
            "extender.httpTimeout": "5s",
        }
        story = Story(
            "a real service",
            nodes=[node("n1"), node("n2")],
            jobs=[job("train", tasks=2, cpu=1)],
            tiers=["gang", [entry("extender", told)]],
            plugins=[Extender],
        )
        try:
            assert story.play() == {"train": {"n2": 2}}
        finally:
            server.shutdown()
            thread.join(5)
