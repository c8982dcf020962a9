"""Fixtures for tests against a real API server: one control plane a session, as good as new for every test.

Where there is no API server the tests are skipped; with HEKLA_REQUIRE_APISERVER=1 they fail instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from harness import (
    AssetsMissing,
    Cluster,
    ControlPlane,
    FaultProxy,
    Kubelet,
    Referee,
    apply_definitions,
    clean,
    find_assets,
)
from harness.scheduler import grant

LAST = "test_role.py"
DEFINITIONS = Path(__file__).parents[2] / "src" / "hekla" / "server" / "deploy" / "manifests" / "crds"


@pytest.fixture(scope="session")
def plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """etcd and an API server, with an admin and plain users; Volcano's custom resources are served."""
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            print(f"\n{line}", flush=True)

    try:
        assets = find_assets(say)
    except AssetsMissing as reason:
        if os.environ.get("HEKLA_REQUIRE_APISERVER") == "1":
            pytest.fail(str(reason), pytrace=False)
        pytest.skip(str(reason))
    with ControlPlane(assets=assets) as running:
        apply_definitions(running, DEFINITIONS)
        yield running


@pytest.fixture
def cluster(plane: ControlPlane) -> Iterator[Cluster]:
    """A cluster with nothing in it and a kubelet; whatever the kubelet saw go wrong fails the test,
    and so does an eviction that should not have been.

    A test that does wrong on purpose takes it back with `referee.pardon()`.
    """
    clean(plane)
    referee = Referee(plane.audit)
    with Kubelet(plane.access(), referee) as kubelet:
        yield Cluster(plane, kubelet, referee)
    referee.judge_evictions(plane.admin)
    assert not referee.violations, referee.report()


@pytest.fixture(scope="module")
def rights(plane: ControlPlane) -> None:
    """The scheduler's users may do what it is deployed with, and no more."""
    for user in ("hekla", "hekla-standby"):
        grant(plane, user, "evictions", "scheduling-gates")


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane) as running:
        yield running


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What judges a whole run comes last."""
    items.sort(key=lambda item: item.path.name == LAST)


@pytest.fixture
def whole_run(request: pytest.FixtureRequest) -> None:
    """For tests that make sense only after all others; without these they are skipped."""
    here = Path(__file__).parent
    collected = {item.path for item in request.session.items if item.path.parent == here}
    options = request.config.option
    if options.keyword or options.markexpr or collected != set(here.glob("test_*.py")):
        pytest.skip("only a whole run has used everything: make e2e")
