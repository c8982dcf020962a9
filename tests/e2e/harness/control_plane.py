"""ControlPlane: a private etcd and kube-apiserver on loopback, with an admin and some plain users."""

from __future__ import annotations

import base64
import http.client
import json
import os
import secrets
import shutil
import ssl
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.access import Access
from harness.api import Api, wait_until
from harness.assets import Assets, find_assets
from harness.audit import AuditLog
from harness.process import Server, free_port

ADMIN = "admin"

# These wait for controllers that are not there: default service accounts, the not-ready taint, ...
IDLE_ADMISSION = "ServiceAccount,TaintNodesByCondition,DefaultStorageClass,StorageObjectInUseProtection"
UNLIMITED = (
    "--max-requests-inflight=0",
    "--max-mutating-requests-inflight=0",
    "--enable-priority-and-fairness=false",
)


class KubectlFailed(Exception):
    """kubectl ended with an error, which is the message."""


class ControlPlane:
    """Both servers keep ports and data when they are stopped, killed or started again.

    `users` are plain: whoever needs rights gets them by RBAC. Tokens are read by the API server when it
    starts, hence all users are named here; what they ask for is written into `audit`. `unlimited` takes away
    the limits on requests in flight and writes nothing down, for benchmarks.
    """

    def __init__(
        self,
        users: Iterable[str] = (
            "hekla",
            "hekla-standby",
            "hekla-alone",
            "hekla-budgets",
            "hekla-reader",
            "nobody",
            "stranger",
        ),
        *,
        unlimited: bool = False,
        flags: Sequence[str] = (),
        assets: Assets | None = None,
    ) -> None:
        self.assets = assets or find_assets()
        self.folder = Path(tempfile.mkdtemp(prefix="hekla-control-plane-"))
        self._token_of_user = {user: secrets.token_urlsafe(24) for user in (ADMIN, *users)}
        self._etcd_url = f"http://127.0.0.1:{free_port()}"
        self._peer_url = f"http://127.0.0.1:{free_port()}"
        self.port = free_port()
        self.server = f"https://127.0.0.1:{self.port}"
        self._write_secrets()
        self.audit = AuditLog(self.folder, users)
        self._flags = [*(UNLIMITED if unlimited else self.audit.flags()), *flags]
        self.etcd = Server("etcd", self._etcd_command(), self.folder / "etcd.log", self._etcd_is_ready)
        self.api_server = Server(
            "kube-apiserver", self._api_server_command(), self.folder / "kube-apiserver.log", self.is_ready
        )
        self._admin: Api | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        self.etcd.start()
        self.api_server.start()
        wait_until(lambda: self.admin.find("Namespace", "default"), timeout=30, what="namespace default")

    def close(self) -> None:
        """Everything ends and the data goes; no server is asked politely, for nothing is kept."""
        if self._admin is not None:
            self._admin.close()
        self.api_server.kill()
        self.etcd.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def certificate(self) -> Path:
        """The API server's own certificate, which clients take as the authority."""
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def private_key(self) -> Path:
        return self.folder / "certificates" / "apiserver.key"

    @property
    def admin(self) -> Api:
        """A client that may do everything."""
        if self._admin is None:
            self._admin = Api(self.access(ADMIN))
        return self._admin

    def access(self, user: str = ADMIN, server: str = "") -> Access:
        if user not in self._token_of_user:
            known = ", ".join(self._token_of_user)
            raise KeyError(f'no user "{user}"; name it when the control plane is made; known: {known}')
        return Access(server or self.server, self._token_of_user[user], self.certificate)

    def kubeconfig(self, user: str = ADMIN, server: str = "") -> Path:
        """A file for `--kubeconfig`; another server may stand in between, with the same certificate."""
        access = self.access(user, server)
        path = self.folder / f"{user}-{access.server.rpartition(':')[2]}.kubeconfig"
        _write_privately(path, json.dumps(access.kubeconfig(user), indent=2))
        return path

    def kubectl(self, *arguments: str, stdin: str | None = None, user: str = ADMIN) -> str:
        """What kubectl prints; KubectlFailed, with its complaint, where it fails."""
        command = [str(self.assets.kubectl), "--kubeconfig", str(self.kubeconfig(user)), *arguments]
        environment = {**os.environ, "HOME": str(self.folder)}
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, check=False, env=environment, timeout=120
        )
        if done.returncode:
            raise KubectlFailed(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def wipe(self, *prefixes: str) -> None:
        """Take everything with such a key out of etcd at once; the API server tells it as deletions.

        Ten thousand deletions one by one would take as long as the tests.
        """
        for prefix in prefixes:
            self._ask_etcd("deleterange", **_keys_from(f"/registry/{prefix}"))

    def wipe_namespace(self, name: str) -> None:
        """Take a namespace away with all that is in it; without controllers nobody else would empty it."""
        found = self._ask_etcd("range", **_keys_from("/registry/"), keys_only=True)
        for row in found.get("kvs", ()):
            key = base64.b64decode(row["key"]).decode()
            if key == f"/registry/namespaces/{name}" or key.split("/")[-2] == name:
                self._ask_etcd("deleterange", key=row["key"])

    def _ask_etcd(self, what: str, **body: str | bool) -> dict[str, Any]:
        data = json.dumps(body).encode()
        with urllib.request.urlopen(f"{self._etcd_url}/v3/kv/{what}", data, timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def is_ready(self) -> bool:
        try:
            trust = ssl.create_default_context(cafile=self.certificate)
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=1, context=trust)
            try:
                connection.request("GET", "/readyz")
                return connection.getresponse().status == 200
            finally:
                connection.close()
        except (OSError, http.client.HTTPException):
            return False

    def _etcd_is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._etcd_url}/health", timeout=1) as answer:
                return b"true" in answer.read()
        except (OSError, http.client.HTTPException):
            return False

    def _write_secrets(self) -> None:
        rows = [
            f"{token},{user},{user}{',system:masters' if user == ADMIN else ''}\n"
            for user, token in self._token_of_user.items()
        ]
        _write_privately(self.folder / "tokens.csv", "".join(rows))
        _write_privately(self.folder / "service-accounts.key", elliptic_curve_key())

    def _etcd_command(self) -> list[str]:
        return [
            str(self.assets.etcd),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={self._peer_url}",
            f"--initial-advertise-peer-urls={self._peer_url}",
            f"--initial-cluster=default={self._peer_url}",
            "--unsafe-no-fsync",
            "--log-level=error",
        ]

    def _api_server_command(self) -> list[str]:
        key = self.folder / "service-accounts.key"
        return [
            str(self.assets.kube_apiserver),
            f"--etcd-servers={self._etcd_url}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self.folder / 'certificates'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            f"--disable-admission-plugins={IDLE_ADMISSION}",
            "--delete-collection-workers=16",
            "--profiling=false",
            *self._flags,
        ]


def _keys_from(prefix: str) -> dict[str, str]:
    """All keys that begin so, as etcd wants it said: up to the next text of that length."""
    first = prefix.encode()
    after = first[:-1] + bytes([first[-1] + 1])
    return {"key": base64.b64encode(first).decode(), "range_end": base64.b64encode(after).decode()}


def elliptic_curve_key() -> str:
    """A private key on P-256 as PEM; its form without the public half is fixed but for 32 bytes."""
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    number = (secrets.randbelow(order - 1) + 1).to_bytes(32, "big")
    der = bytes.fromhex("30310201010420") + number + bytes.fromhex("a00a06082a8648ce3d030107")
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\n"


def _write_privately(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
