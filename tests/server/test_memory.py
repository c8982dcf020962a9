"""Memory: jobs that came and went leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pytest

from fakes.http_api import HttpApi
from hekla.cluster.kubernetes import facts, recorder
from hekla.objects import ObjectMeta, VolcanoJob
from hekla.objects.batch import JobSpec, PodTemplate, TaskSpec
from hekla.objects.pod import Container, PodSpec
from hekla.server.server import Server
from hekla.testing import job, node, queue, stamped
from server.serving import serving, until

AT_ONCE = 20
TEMPLATE = PodTemplate(
    spec=PodSpec(containers=(Container(name="main", image="app:1"),), restart_policy="OnFailure")
)
SLACK = AT_ONCE // 2
"""By so much a container may have grown by chance, such as one that holds what the last cycle was about."""
PASSED_OVER = (str, bytes, int, float, type, type(None), ModuleType, BuiltinFunctionType, asyncio.Event)


def sizes(root: object) -> Counter[str]:
    """How much lies in all containers that the object holds, by the path to them without keys."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    rest = deque([("", root)])
    while rest:
        path, value = rest.popleft()
        if id(value) in seen or isinstance(value, PASSED_OVER):
            continue
        seen.add(id(value))
        if isinstance(value, (dict, list, set, deque, frozenset, OrderedDict)):
            found[path] += len(value)
        elif isinstance(value, np.ndarray):
            found[path] += value.size
        rest.extend((f"{path}{step}", part) for step, part in parts_of(value))
    return found


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case Mapping():
            yield from (("[]", part) for part in (*value.keys(), *value.values()))
        case list() | tuple() | set() | frozenset() | deque():
            yield from (("[]", part) for part in value)
        case MethodType():
            yield "()", value.__self__
        case FunctionType():
            yield from (("()", cell.cell_contents) for cell in value.__closure__ or ())
        case _ if type(value).__module__.startswith("hekla."):
            names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
            yield from ((f".{name}", getattr(value, name)) for name in names if hasattr(value, name))
            yield from ((f".{name}", part) for name, part in getattr(value, "__dict__", {}).items())


def wave(number: int, *, with_resources: bool) -> list[Any]:
    """Jobs of which none is like any other, now or before."""
    return stamped(
        manifest
        for place in range(number * AT_ONCE, (number + 1) * AT_ONCE)
        for manifest in [
            queue(f"team{place}"),
            node(f"node{place}", labels={f"mark{place}": "yes"}),
            *job(
                f"job{place}",
                namespace=f"space{place}",
                queue=f"team{place}",
                cpu=f"{place + 1}m",
                memory=1_000_000 + place,
                labels={f"label{place}": f"value{place}"},
                annotations={f"note{place}": "yes"},
                resources={f"example.com/r{place}": 0} if with_resources else {},
            ).objects,
            VolcanoJob(
                metadata=ObjectMeta(name=f"vc{place}", namespace=f"space{place}"),
                spec=JobSpec(
                    queue=f"team{place}",
                    scheduler_name="volcano",
                    min_available=1,
                    tasks=(TaskSpec(name=f"role{place}", replicas=1, template=TEMPLATE),),
                ),
            ),
        ]
    )


async def pass_by(api: HttpApi, server: Server, objects: list[Any]) -> Counter[str]:
    """The jobs come, run, end and go; what is left of them."""
    api.put(*objects)
    await until(lambda: len(api.all_in("pods")) == 2 * AT_ONCE)
    await until(lambda: all(pod["spec"].get("nodeName") for pod in api.all_in("pods").values()))
    for phase in ("Running", "Succeeded"):
        api.change_all("pods", {"status": {"phase": phase}})
        await settled(server)
    for path in list(api.objects):
        name = path.rpartition("/")[2]
        if name not in ("root", "default", "n1"):
            api._remove(path)
    await settled(server)
    async with server.cluster.lock:
        gc.collect()
        return sizes(server)


async def settled(server: Server) -> None:
    server.metrics._next_observation = 0.0
    cycles = server.cycles
    await until(lambda: server.cycles > cycles + 3 and server.cluster.outbox.is_empty)


@pytest.mark.parametrize("with_resources", [False, True])
def test_jobs_that_came_and_went_leave_nothing_behind(
    with_resources: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "MOST_GONE", AT_ONCE)
    monkeypatch.setattr(recorder, "MOST_REMEMBERED", AT_ONCE)

    async def play() -> None:
        standing = stamped([queue("root"), queue("default"), node("n1", cpu=64)])
        async with HttpApi(*standing) as api, serving(api, with_controllers=True) as server:
            server.cluster.state.most_resources = AT_ONCE
            found = [
                await pass_by(api, server, wave(number, with_resources=with_resources)) for number in range(4)
            ]
        before, after = found[1], found[-1]
        grown = [
            f"{path}: {before[path]} -> {size}" for path, size in after.items() if size > before[path] + SLACK
        ]
        assert not grown

    asyncio.run(play())
