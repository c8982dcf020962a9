"""Where etcd, kube-apiserver and kubectl come from.

First what the environment names, by the convention of Kubernetes' own test environment; then a cache
outside the tree, filled by Go from the pinned module beside this package. The cache is named by what it
was built from, so that a new pin builds anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
MODULE = Path(__file__).parents[1] / "controlplane"
USUAL_PLACE = Path("/usr/local/kubebuilder/bin")


class AssetsMissing(Exception):
    """There are neither binaries nor a way to build them."""


@dataclass(frozen=True)
class Assets:
    etcd: Path
    kube_apiserver: Path
    kubectl: Path


def find_assets(say: Callable[[str], None] = print) -> Assets:
    """The three programs, built if need be; AssetsMissing where that cannot be."""
    found = {program: named_by_environment(program, os.environ) for program in PROGRAMS}
    missing = [program for program, path in found.items() if path is None]
    built = cached_build(say) if missing else Path()
    return Assets(*(found[program] or built / program for program in PROGRAMS))


def named_by_environment(program: str, environment: Mapping[str, str]) -> Path | None:
    """A variable for one program beats a folder for all; what it names must be there."""
    variable = "TEST_ASSET_" + program.upper().replace("-", "_")
    if alone := environment.get(variable):
        return _existing(Path(alone), variable)
    if folder := environment.get("KUBEBUILDER_ASSETS"):
        return _existing(Path(folder) / program, "KUBEBUILDER_ASSETS")
    usual = USUAL_PLACE / program
    return usual if usual.is_file() else None


def cached_build(say: Callable[[str], None]) -> Path:
    """The folder with the programs built from the pinned module."""
    folder = cache_folder(os.environ) / fingerprint(MODULE)
    if not _is_complete(folder):
        if shutil.which("go") is None:
            raise AssetsMissing(
                "no API server to test against: set KUBEBUILDER_ASSETS to a folder with "
                "etcd, kube-apiserver and kubectl, or install Go to have them built"
            )
        _build_once(folder, say)
    return folder


def cache_folder(environment: Mapping[str, str]) -> Path:
    if chosen := environment.get("HEKLA_TEST_CACHE"):
        return Path(chosen)
    home = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "hekla" / "controlplane"


def fingerprint(module: Path) -> str:
    digest = hashlib.sha256()
    sources = sorted([module / "go.mod", module / "go.sum", *module.glob("*/*.go")])
    for source in sources:
        digest.update(f"{source.relative_to(module)}\n".encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def _build_once(folder: Path, say: Callable[[str], None]) -> None:
    """Parallel test runs build once: the first one holds the lock, the others find its work."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock")):
        if not _is_complete(folder):
            say(f"building {', '.join(PROGRAMS)} for the tests; this takes some minutes, once")
            _build(folder)


def _build(folder: Path) -> None:
    """Programs appear under their name only when whole, so that a broken build leaves none."""
    folder.mkdir(exist_ok=True)
    for program in PROGRAMS:
        if (folder / program).is_file():
            continue
        half = folder / f".{program}"
        command = ["go", "build", "-trimpath", "-ldflags", linker_flags(), "-o", str(half), f"./{program}"]
        result = subprocess.run(command, cwd=MODULE, capture_output=True, text=True, check=False)
        if result.returncode:
            raise AssetsMissing(f"could not build {program}:\n{result.stderr[-2000:]}")
        half.rename(folder / program)


def linker_flags() -> str:
    """Small programs that know the version they are pinned to; without it kubectl refuses to tell its own."""
    pinned = re.search(r"k8s\.io/kubernetes (v\S+)", (MODULE / "go.mod").read_text())
    assert pinned is not None, "go.mod does not require k8s.io/kubernetes"
    return f"-s -w -X k8s.io/component-base/version.gitVersion={pinned[1]}"


def _is_complete(folder: Path) -> bool:
    return all((folder / program).is_file() for program in PROGRAMS)


def _existing(path: Path, variable: str) -> Path:
    if not path.is_file():
        raise AssetsMissing(f"{variable} points to {path}, where there is no program")
    return path


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
