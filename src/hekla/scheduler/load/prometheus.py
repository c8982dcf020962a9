"""Prometheus as a source of load: two instant queries over HTTP.

The usual queries are for the figures of node exporter, averaged over ten minutes. A node is
recognised by its name in the label `node`, or in the label `instance`, with or without a port.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import msgspec

from hekla.engine.model.node import NodeLoad
from hekla.errors import InputError
from hekla.objects.complaint import printable, quoted

if TYPE_CHECKING:
    import ssl

CPU_QUERY = '100 * (1 - avg by (node, instance) (rate(node_cpu_seconds_total{mode="idle"}[10m])))'
MEMORY_QUERY = (
    "100 * (1 - avg by (node, instance) (avg_over_time(node_memory_MemAvailable_bytes[10m]))"
    " / avg by (node, instance) (avg_over_time(node_memory_MemTotal_bytes[10m])))"
)


@dataclass(frozen=True)
class Prometheus:
    """Where it listens and what it is asked; `ca_file` holds certificates to trust besides the usual ones."""

    address: str
    timeout: float = 10.0
    cpu_query: str = CPU_QUERY
    memory_query: str = MEMORY_QUERY
    ca_file: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.username or parts.password:
            raise InputError("metrics.address: must not hold a user name or a password")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            hint = "write it like https://prometheus.example.com:9090"
            raise InputError(f"metrics.address: {quoted(self.address)} is no address; {hint}")

    def load(self, nodes: Collection[str], now: float) -> dict[str, NodeLoad]:
        """The load of those nodes of which both cpu and memory are known."""
        cpu, memory = (self._by_node(query, nodes) for query in (self.cpu_query, self.memory_query))
        return {name: NodeLoad(cpu[name], memory[name], now) for name in cpu if name in memory}

    def _by_node(self, query: str, nodes: Collection[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        for row in self.ask(query):
            name = node_named_in(row.metric, nodes)
            if name is not None and math.isfinite(row.figure):
                found[name] = row.figure
        return found

    def ask(self, query: str) -> list[PrometheusSample]:
        """The rows that an instant query comes to."""
        url = f"{self.address.rstrip('/')}/api/v1/query?{urlencode({'query': query})}"
        try:
            answer = msgspec.json.decode(self._fetch(url), type=PrometheusAnswer)
        except msgspec.MsgspecError as problem:
            raise InputError(f"{self.address}: not an answer of Prometheus: {problem}") from problem
        if answer.status != "success" or answer.data is None:
            raise InputError(f"{self.address}: refused the query: {printable(answer.error or answer.status)}")
        return answer.data.result

    def _fetch(self, url: str) -> bytes:
        from hekla.exchange import ExchangeFailed, exchange  # noqa: PLC0415 - slow to import, rarely needed

        try:
            return exchange(
                url, self.timeout, headers={"Accept": "application/json"}, trust=self._trust(), by_proxy=True
            )
        except ExchangeFailed as error:
            raise InputError(f"{self.address}: {error}") from error

    def _trust(self) -> ssl.SSLContext:
        import ssl  # noqa: PLC0415 - as above

        context = ssl.create_default_context()
        if self.ca_file:
            try:
                context.load_verify_locations(self.ca_file)
            except OSError as error:
                raise InputError(f"metrics.tls.ca: {self.ca_file}: {error}") from error
        return context


def node_named_in(labels: Mapping[str, str], nodes: Collection[str]) -> str | None:
    instance = labels.get("instance", "")
    names = (labels.get("node", ""), instance, instance.rpartition(":")[0])
    return next((name for name in names if name in nodes), None)


class PrometheusSample(msgspec.Struct, frozen=True):
    """One series and its value at the moment of asking."""

    metric: dict[str, str]
    value: tuple[float, str]

    @property
    def figure(self) -> float:
        try:
            return float(self.value[1])
        except ValueError:
            return math.nan


class PrometheusData(msgspec.Struct, frozen=True):
    result: list[PrometheusSample]


class PrometheusAnswer(msgspec.Struct, frozen=True):
    status: str
    data: PrometheusData | None = None
    error: str = ""
