"""Volumes of ignored provisioners do not count, by option or as the scenario says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import called

from hekla.cli.serve import options_from, serve
from hekla.cluster.export import as_data, as_scenario
from hekla.objects import Pod
from hekla.testing import job, node, queue, stamped
from hekla.testing.storage import claim, storage_class, using

CONF = 'actions: "enqueue, allocate"\ntiers:\n- plugins: [{name: gang}, {name: predicates}]\n'


def scenario(path: Path, **more: object) -> str:
    gang = [using(one, "c") if isinstance(one, Pod) else one for one in job("a", cpu=1).objects]
    objects = stamped([queue("default"), node("n1"), storage_class("s", "fast"), claim("c", of="s"), *gang])
    file = path / "scenario.json"
    file.write_bytes(as_scenario(map(as_data, objects), CONF, "s", **more))
    return str(file)


@pytest.mark.parametrize(
    ("options", "more", "bound"),
    [
        ([], {}, 0),
        (["--ignored-provisioners", "slow,fast"], {}, 1),
        (["--ignored-provisioners=slow", "--ignored-provisioners=fast"], {}, 1),
        ([], {"ignoredProvisioners": ["fast"]}, 1),
    ],
    ids=["none", "parted by commas", "one by one", "in the scenario"],
)
def test_decide(tmp_path: Path, options: list[str], more: dict[str, object], bound: int) -> None:
    said = called("decide", scenario(tmp_path, **more), "-o", "json", *options)
    assert len(json.loads(said.stdout)["binds"]) == bound


def test_explain_names_the_resource(tmp_path: Path) -> None:
    said = called("explain", scenario(tmp_path))
    assert "not enough attachable-volumes-csi-fast (asked 1, most free 0)" in said.stdout


def test_serve_passes_them_on() -> None:
    given = serve.make_context("serve", ["--ignored-provisioners=a,b"]).params
    assert options_from(given).cluster.ignored_provisioners == ("a", "b")
