"""Access: which API server to talk to, with which credentials, and how often.

The official client reads kubeconfigs (with exec plugins and their expiry), in-cluster files and rotated
tokens. It is imported only here, and only when a cluster is talked to.
"""

from __future__ import annotations

import asyncio
import math
import os
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from hekla.clock import stopwatch
from hekla.errors import InputError

T = TypeVar("T")
IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
USUAL_PLACE = Path("~/.kube/config")
FRESH_SECONDS = 5.0
"""How long credentials are used before the loader is asked whether they still hold."""
LONGEST_LOAD = 30.0
"""How long the loader may take: an exec plugin may wait for a login, or hang."""


class Access:
    """What the official client's loader found out; `reload` reads it again, after a refusal for instance."""

    def __init__(self, load: Callable[[], Any], *, patience: float = LONGEST_LOAD) -> None:
        self._load = load
        self._patience = patience
        self._asked_at = 0.0
        self.reload()

    def reload(self) -> None:
        """Read files and run plugins again: a token may have been replaced."""
        self._settings = _in_time(self._load, self._patience)
        self._headers: dict[str, str] | None = None

    @property
    def server(self) -> str:
        return str(self._settings.host).rstrip("/")

    @property
    def proxy(self) -> str | None:
        return self._settings.proxy or None

    @property
    def server_name(self) -> str | None:
        """The name in the server's certificate, where it is not that of its address."""
        return getattr(self._settings, "tls_server_name", None) or None

    @property
    def headers(self) -> dict[str, str] | None:
        """Who we are, or nothing if it is time to `ask`: asking for every request is slow."""
        is_fresh = self._headers is not None and stopwatch() - self._asked_at <= FRESH_SECONDS
        return self._headers if is_fresh else None

    def ask(self) -> dict[str, str]:
        """Who we are; a token about to expire is replaced first."""
        self._headers, self._asked_at = _in_time(self._ask, self._patience), stopwatch()
        return self._headers

    def _ask(self) -> dict[str, str]:
        said = self._settings.get_api_key_with_prefix("BearerToken", alias="authorization")
        if said:
            return {"Authorization": said}
        if self._settings.username:
            return {"Authorization": self._settings.get_basic_auth_token()}
        return {}

    def tls(self) -> ssl.SSLContext | None:
        """How the connection is secured; nothing for plain HTTP."""
        settings = self._settings
        if not self.server.startswith("https:"):
            return None
        context = ssl.create_default_context(cafile=settings.ssl_ca_cert)
        if settings.cert_file:
            context.load_cert_chain(settings.cert_file, settings.key_file)
        if not settings.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def find_access(kubeconfig: Path | None = None, context: str | None = None, master: str = "") -> Access:
    """By the file given, else `KUBECONFIG` or the usual file, else as a pod of the cluster itself."""
    try:
        from kubernetes import client, config  # noqa: PLC0415 - slow to import, and only clusters need it
    except ImportError as error:
        raise InputError('talking to a cluster needs more: pip install "hekla[kubernetes]"') from error

    def load() -> Any:
        settings = client.Configuration()
        try:
            if kubeconfig is None and context is None and IN_CLUSTER in os.environ and not _has_file():
                config.load_incluster_config(settings)  # type: ignore[no-untyped-call]
            else:
                file = None if kubeconfig is None else str(kubeconfig)
                config.load_kube_config(file, context, settings, persist_config=False)  # type: ignore[no-untyped-call]
        except (config.ConfigException, OSError, ValueError) as error:
            raise InputError(
                f"no way to the cluster: {error}; give --kubeconfig, or set KUBECONFIG"
            ) from error
        if master:
            settings.host = master
        return settings

    return Access(load)


def _in_time(work: Callable[[], T], patience: float) -> T:
    """What it gives, if it gives anything in time; a plugin that hangs is left alone and holds nothing up."""
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, name="credentials", daemon=True).start()
    try:
        return result.result(patience)
    except TimeoutError as error:
        raise InputError(f"no way to the cluster: no credentials after {patience:g} s") from error


def _has_file() -> bool:
    return bool(os.environ.get("KUBECONFIG")) or USUAL_PLACE.expanduser().exists()


class Rate:
    """A bucket that fills with `per_second` turns a second and holds `burst`; 0 a second means no limit."""

    def __init__(self, per_second: float = 0.0, burst: int = 1) -> None:
        self._per_second = per_second if per_second > 0 else math.inf
        self._burst = max(burst, 1)
        self._left = float(self._burst)
        self._filled_at = stopwatch()

    async def turn(self) -> None:
        """Wait for a turn; those who wait are served in the order of their coming."""
        if math.isinf(self._per_second):
            return
        now = stopwatch()
        self._left = min(self._burst, self._left + (now - self._filled_at) * self._per_second)
        self._filled_at = now
        self._left -= 1.0
        if self._left < 0:
            await asyncio.sleep(-self._left / self._per_second)
