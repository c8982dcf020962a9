"""Scheduler: `hekla serve` in a process of its own, with the rights of its role and no more."""

from __future__ import annotations

import http.client
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.api import wait_until
from harness.control_plane import ControlPlane
from harness.evictions import PATIENCE, evictions_of, is_eviction, outstanding, read_history
from harness.kinds import Object
from harness.process import Server, free_port
from hekla.server.deploy.manifests import read_part

USER = "hekla"
NAMESPACE = "hekla-system"
QUICK_LEASE = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
"""Tests do not wait for a quarter of a minute until a new leader takes over."""


class Scheduler:
    """One replica; its log is a file, and its endpoints are on loopback."""

    def __init__(self, plane: ControlPlane, kubeconfig: Path, *options: str, name: str = "one") -> None:
        self._health = free_port()
        self._metrics = free_port()
        self.log = plane.folder / f"scheduler-{name}-{self._health}.log"
        command = [
            sys.executable,
            "-m",
            "hekla",
            "serve",
            f"--kubeconfig={kubeconfig}",
            f"--listen-address=127.0.0.1:{self._metrics}",
            f"--healthz-address=127.0.0.1:{self._health}",
            *QUICK_LEASE,
            *options,
        ]
        self.server = Server(f"scheduler {name}", command, self.log, lambda: True)

    def start(self) -> Scheduler:
        self.server.start()
        return self

    def wait_for(self, text: str, timeout: float = 30.0) -> None:
        """Until its log says so."""
        wait_until(lambda: text in self.text, timeout, what=f'"{text}" in the log of {self.server.name}')

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of one of its endpoints."""
        port = self._metrics if path.startswith("/metrics") else self._health
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        self.server.stop(timeout=30)
        return self.exit_code

    @property
    def exit_code(self) -> int:
        return self.server.exit_code


def grant(plane: ControlPlane, user: str, *parts: str) -> None:
    """Give a user the rights that the scheduler is deployed with."""
    if plane.admin.find("Namespace", NAMESPACE) is None:
        plane.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for part in ("base", *parts):
        for manifest in read_part(part):
            if manifest["kind"] in ("ClusterRole", "Role"):
                _put(plane, manifest)
            elif manifest["kind"] in ("ClusterRoleBinding", "RoleBinding"):
                name = f"{manifest['metadata']['name']}-{user}".replace(":", "-")
                meta = {**manifest["metadata"], "name": name}
                subjects = [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]
                _put(plane, {**manifest, "metadata": meta, "subjects": subjects})


def _put(plane: ControlPlane, manifest: Object) -> None:
    meta = manifest["metadata"]
    found = plane.admin.find(manifest["kind"], meta["name"], meta.get("namespace", ""))
    if found is None:
        plane.admin.create(manifest)
    else:
        plane.admin.patch(found, manifest)


@contextmanager
def running(
    plane: ControlPlane,
    *options: str,
    kubeconfig: Path | None = None,
    name: str = "one",
    ends_at_once: bool = False,
) -> Iterator[Scheduler]:
    """A replica that has been started; it is asked to end afterwards, and must do so well.

    Jobs for which it evicted get the time to start, unless it `ends_at_once`.
    """
    since = plane.audit.position()
    scheduler = Scheduler(plane, kubeconfig or plane.kubeconfig(USER), *options, name=name).start()
    try:
        scheduler.wait_for("following")  # from then on it knows how to end well
        yield scheduler
        if not ends_at_once:
            _give_time(plane, since)
        assert scheduler.server.is_running, f"the scheduler ended by itself:\n{scheduler.server.log_tail(60)}"
        assert scheduler.stop() == 0, scheduler.server.log_tail(60)
    except BaseException:
        print(f"the log of {scheduler.server.name} ends so:\n{scheduler.server.log_tail(60)}")
        raise
    finally:
        scheduler.server.kill()
        if "Traceback" in scheduler.text:
            raise AssertionError(f"the scheduler had an unforeseen error:\n{scheduler.text[-6000:]}")


def _give_time(plane: ControlPlane, since: int) -> None:
    with suppress(TimeoutError):  # what is too late is for the referee to judge
        wait_until(lambda: not _is_owed_a_start(plane, since), 2 * PATIENCE, every=0.5)


def _is_owed_a_start(plane: ControlPlane, since: int) -> bool:
    """Nothing is asked of the server where nobody was evicted."""
    requests = list(plane.audit.read(since))
    if not any(map(is_eviction, requests)):
        return False
    history = read_history(requests, plane.admin)
    return any(outstanding(history, evictions_of(history)))
