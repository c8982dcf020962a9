"""What configurations are called in reports, where a script gave none of them a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekla import Comparison, compare, simulate
from hekla.api import AnyConf, conf_of
from hekla.conf import PRESETS

WORK = "jobs: [{name: one, duration: 60s, cpu: 1}]"
BY_HAND = 'actions: "allocate"\n'
NODES = "1 x cpu=4"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work.yaml"
    path.write_text(WORK)
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files of one name."""
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "spread.conf").write_text(BY_HAND)
    return [tmp_path / folder / "spread.conf" for folder in ("old", "new")]


def compared(work: Path, *confs: AnyConf) -> Comparison:
    return compare(work, confs, nodes=NODES)


def test_files_and_presets_are_called_by_their_names(work: Path, files: list[Path]) -> None:
    assert compared(work, files[0], "helm", None).names == ("spread.conf", "helm", "default")


def test_files_of_one_name_are_told_apart_by_their_folders(work: Path, files: list[Path]) -> None:
    assert compared(work, *files).names == tuple(map(str, files))


def test_what_was_made_by_hand_is_numbered(work: Path) -> None:
    assert compared(work, BY_HAND, BY_HAND + "# again").names == ("configuration", "configuration (2)")


@pytest.mark.parametrize(
    "conf", [conf_of("helm"), PRESETS["helm"].text, "helm"], ids=["read", "text", "name"]
)
def test_a_preset_is_known_in_every_form(work: Path, conf: AnyConf) -> None:
    assert simulate(work, conf, nodes=NODES).conf == "helm"


def test_a_run_is_called_as_one_says(work: Path) -> None:
    assert simulate(work, BY_HAND, nodes=NODES, name="small first").conf == "small first"
