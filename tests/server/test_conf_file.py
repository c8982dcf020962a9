"""The configuration file of a running scheduler: what it says counts, however often it comes and goes."""

from __future__ import annotations

from pathlib import Path

from hekla.conf import BUILT_IN_DEFAULT
from hekla.scheduler.builtin import BUILTIN
from hekla.server.options import ConfFile


def test_a_file_that_vanishes_and_comes_back_unchanged_is_good_again(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.conf"
    path.write_text(BUILT_IN_DEFAULT)
    file = ConfFile(path, BUILTIN)
    path.unlink()
    assert not file.refresh()
    assert not file.is_good
    path.write_text(BUILT_IN_DEFAULT)
    file.refresh()
    assert (file.is_good, file.mistake) == (True, "")
    assert not file.refresh()


def test_a_bad_file_stays_bad_until_it_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.conf"
    path.write_text(BUILT_IN_DEFAULT)
    file = ConfFile(path, BUILTIN)
    path.write_text("actions: [")
    for _ in range(2):
        assert not file.refresh()
        assert not file.is_good
    path.write_text(BUILT_IN_DEFAULT)
    assert file.refresh()
    assert file.is_good
