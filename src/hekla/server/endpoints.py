"""Endpoints: health, metrics and the state of the scheduler over HTTP."""

from __future__ import annotations

import errno
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from aiohttp import web

from hekla.clock import stopwatch
from hekla.cluster.kubernetes.api.reflector import WatchHealth
from hekla.errors import InputError
from hekla.objects import Manifest
from hekla.server.metrics import CONTENT_TYPE
from hekla.server.observation import figures_of
from hekla.text import some_of

if TYPE_CHECKING:
    from hekla.server.server import Server


MOST_NAMED = 5


@dataclass(frozen=True)
class Check:
    """What was looked at and what is wrong with it; a mere warning does not make the answer a no."""

    name: str
    problem: str = ""
    is_warning: bool = False
    remark: str = ""

    @property
    def passes(self) -> bool:
        return not self.problem or self.is_warning

    def __str__(self) -> str:
        if not self.problem:
            return f"[+]{self.name} ok" + (f": {self.remark}" if self.remark else "")
        sign, word = ("[!]", "warning") if self.is_warning else ("[-]", "failed")
        return f"{sign}{self.name} {word}: {self.problem}"


def liveness(server: Server) -> list[Check]:
    """A process that answers lives, unless the engine hangs."""
    return [Check("event-loop"), Check("engine", _stall(server))]


def readiness(server: Server) -> list[Check]:
    """A replica that stands by is as ready as the one that leads."""
    return [
        Check("in-sync", not_in_sync(_health_by_kind(server))),
        Check("api-server", silence(_health_by_kind(server), server.options.staleness_limit)),
        Check("permissions", "; ".join(_not_allowed(server))),
        Check("cycle", server.failure or _stall(server)),
        Check("objects", "; ".join(_put_aside(server)), is_warning=True),
        Check(
            "recording",
            server.cycle_recorder.trouble if server.cycle_recorder is not None else "",
            is_warning=True,
        ),
        Check("configuration", server.conf_file.mistake, is_warning=True),
        Check("leadership", remark="leads" if server.leads else "stands by"),
    ]


def text_of(title: str, checks: Sequence[Check], *, is_verbose: bool) -> tuple[bool, str]:
    """Whether all is well, and the answer in words: every check, or just what is wrong."""
    is_well = all(check.passes for check in checks)
    if is_well and not is_verbose:
        return True, "ok\n"
    shown = checks if is_verbose else [check for check in checks if not check.passes]
    lines = [*map(str, shown), f"{title} check {'passed' if is_well else 'failed'}"]
    return is_well, "".join(f"{line}\n" for line in lines)


def _health_by_kind(server: Server) -> dict[type[Manifest], WatchHealth]:
    return {kind: reflector.health for kind, reflector in server.cluster.reflectors.items()}


def not_in_sync(health_by_kind: dict[type[Manifest], WatchHealth]) -> str:
    """The kinds that have not been listed yet, and why, as far as it is known."""
    waiting = {kind.__name__: health for kind, health in health_by_kind.items() if not health.synced.is_set()}
    if not waiting:
        return ""
    names = some_of(list(waiting), MOST_NAMED)
    trouble = next((health.trouble for health in waiting.values() if health.trouble), "")
    return f"not listed yet: {names}" + (f" ({trouble})" if trouble else "")


def silence(health_by_kind: dict[type[Manifest], WatchHealth], limit: float) -> str:
    """The API server has not been heard of for too long."""
    silent = {kind.__name__: health for kind, health in health_by_kind.items() if health.is_stale(limit)}
    if not silent:
        return ""
    longest = max(health.silence for health in silent.values())
    trouble = next(iter(silent.values())).trouble
    return f"not heard of for {longest:.0f} s ({', '.join(silent)}): {trouble}"


def _not_allowed(server: Server) -> Iterator[str]:
    yield from (f"may not {permission}" for permission in server.permissions.missing)
    if server.permissions.rejection:
        yield server.permissions.rejection


def _put_aside(server: Server) -> Iterator[str]:
    reasons = server.cluster.aside.reasons
    for kind, key in islice(reasons, MOST_NAMED):
        yield f"{kind.__name__.lower()} {key} is put aside: {reasons[kind, key]}"
    if len(reasons) > MOST_NAMED:
        yield f"{len(reasons) - MOST_NAMED} more are put aside"


def _stall(server: Server) -> str:
    """Cycles have begun, and none has ended for too long; rounds without one count as well."""
    options, stalled = server.options, 0.0 if server.moved_at is None else stopwatch() - server.moved_at
    limit = options.stall_limit + options.period
    return f"no cycle has ended for {stalled:.0f} s" if stalled > limit else ""


logger = logging.getLogger("hekla.serve")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
LARGEST_REQUEST = 16 * 1024
"""Requests have no body."""
IDLE_SECONDS = 30.0
BACKLOG = 128


@dataclass(frozen=True)
class Address:
    """Where to listen; no host means on all of the machine's addresses, port 0 any that is free."""

    host: str | None
    port: int


def read_address(text: str, option: str) -> Address:
    """`:8080`, `127.0.0.1:8080`, `[::1]:8080`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InputError(f'{option} "{text}": expected HOST:PORT, such as 127.0.0.1:8080 or :8080')
    return Address(host.removeprefix("[").removesuffix("]") or None, int(port))


class Endpoints:
    """Listens from `open` to `close`; one listener where both addresses are the same."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._runners: list[web.AppRunner] = []
        self.addresses: dict[str, str] = {}
        """By path, where it really is."""
        self.is_open = False

    async def open(self) -> None:
        """Listen, or say why that cannot be."""
        for (text, option), routes in self._routes_by_address().items():
            address = read_address(text, option)
            try:
                await self._listen(address, routes)
            except OSError as error:
                raise InputError(f'{option} "{text}" cannot be used: {_reason(error)}') from error
        self.is_open = True

    async def close(self) -> None:
        self.is_open = False
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()

    def _routes_by_address(self) -> dict[tuple[str, str], dict[str, Handler]]:
        options = self._server.options
        metrics: dict[str, Handler] = {"/metrics": self._metrics}
        health: dict[str, Handler] = {
            "/healthz": self._healthz,
            "/livez": self._livez,
            "/readyz": self._readyz,
        }
        wanted: dict[tuple[str, str], dict[str, Handler]] = {}
        if options.metrics_address:
            wanted[options.metrics_address, "--listen-address"] = metrics
        if options.health_address and options.health_address == options.metrics_address:
            metrics.update(health)
        elif options.health_address:
            wanted[options.health_address, "--healthz-address"] = health
        return wanted

    async def _listen(self, address: Address, routes: dict[str, Handler]) -> None:
        application = web.Application(client_max_size=LARGEST_REQUEST, middlewares=[_answer_in_any_case])
        for path, handler in routes.items():
            application.router.add_get(path, handler)
        runner = web.AppRunner(
            application, access_log=None, keepalive_timeout=IDLE_SECONDS, handle_signals=False
        )
        await runner.setup()
        self._runners.append(runner)
        await web.TCPSite(runner, address.host, address.port, backlog=BACKLOG).start()
        host, port = runner.addresses[0][:2]
        for path in routes:
            self.addresses[path] = f"http://{_bracketed(str(host))}:{port}{path}"
            logger.info("listening: %s", self.addresses[path])

    async def _metrics(self, _request: web.Request) -> web.Response:
        page = await self._server.metrics.page(figures_of(self._server))
        return web.Response(body=page, headers={"Content-Type": CONTENT_TYPE})

    async def _healthz(self, request: web.Request) -> web.Response:
        return _answer("healthz", liveness(self._server), request)

    async def _livez(self, request: web.Request) -> web.Response:
        return _answer("livez", liveness(self._server), request)

    async def _readyz(self, request: web.Request) -> web.Response:
        return _answer("readyz", readiness(self._server), request)


@web.middleware
async def _answer_in_any_case(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What cannot be answered is told here and there, and later questions are answered."""
    try:
        return await handler(request)
    except web.HTTPException:
        raise
    except Exception:
        logger.exception("%s could not be answered", request.path)
        return web.Response(status=500, text="failed in an unforeseen way, see the log\n")


def _answer(title: str, checks: list[Check], request: web.Request) -> web.Response:
    is_well, text = text_of(title, checks, is_verbose="verbose" in request.query)
    # A reason may hold text from the cluster: it is text, whatever it looks like.
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return web.Response(status=200 if is_well else 503, text=text, headers=headers)


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another process listens there; choose another port, or 0 for any that is free"
    return error.strerror or str(error)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
