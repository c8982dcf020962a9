"""The image: its base by digest, and everything in it by hash, as `pyproject.toml` allows it."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCKS = {
    name: (ROOT / "deploy" / name).read_text("utf-8")
    for name in ("build-requirements.lock", "requirements.lock")
}
IN_THE_IMAGE = {
    "python_version": "3.13",
    "python_full_version": "3.13.0",
    "sys_platform": "linux",
    "extra": "",
}


def locked(name: str) -> dict[str, str]:
    """The version of each package of a lock file."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", LOCKS[name], re.MULTILINE))


def required(name: str) -> list[str]:
    if name == "build-requirements.lock":
        return list(PROJECT["build-system"]["requires"])
    project = PROJECT["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["kubernetes"]]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_keeps_to_the_ranges_of_the_project(name: str) -> None:
    versions = locked(name)
    wanted = [Requirement(text) for text in required(name)]
    assert [str(one) for one in wanted if canonicalize_name(one.name) not in versions] == []
    assert [
        str(one) for one in wanted if not one.specifier.contains(versions[canonicalize_name(one.name)])
    ] == []


@pytest.mark.parametrize("name", LOCKS)
def test_what_a_locked_package_needs_is_locked_too(name: str) -> None:
    """Looked up where this very version is installed here; the build refuses whatever is left."""
    versions = locked(name)
    needed = {needs for package, version in versions.items() for needs in needs_of(package, version)}
    assert needed - set(versions) == set()


def needs_of(package: str, version: str) -> set[str]:
    try:
        found = distribution(package)
    except PackageNotFoundError:
        return set()
    if found.version != version:
        return set()
    wanted = [Requirement(text) for text in found.requires or ()]
    return {
        canonicalize_name(one.name)
        for one in wanted
        if one.marker is None or one.marker.evaluate(IN_THE_IMAGE)
    }


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_its_hashes_and_no_address(name: str) -> None:
    for entry in re.split(r"\n(?=\S)", LOCKS[name].rstrip())[2:]:
        assert re.fullmatch(r"[a-z0-9-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+", entry)


def test_both_stages_have_the_same_base_by_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.13-slim@sha256:[0-9a-f]{64}", bases[0])


def test_nothing_is_fetched_without_its_hash() -> None:
    commands = re.findall(r"pip (?:install|wheel) .*?(?=&& pip|\n[A-Z#])", DOCKERFILE, re.DOTALL)
    assert len(commands) == 5
    by_hash = [command for command in commands if "--require-hashes" in command]
    of_our_own = [command for command in commands if "--no-deps" in command and command not in by_hash]
    assert len(by_hash) == 3
    assert [
        re.search(r"(--no-build-isolation|--no-index)", command) is not None for command in of_our_own
    ] == [True] * 2
