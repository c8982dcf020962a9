"""Extender transport: one POST with JSON to a service, bounded in time and size."""

from __future__ import annotations

from collections.abc import Callable

from hekla.errors import HeklaError
from hekla.exchange import ExchangeFailed, exchange

JSON_HEADERS = {"Content-Type": "application/json"}


class CallFailed(HeklaError):
    """The service could not be reached, or did not answer as agreed."""


Transport = Callable[[str, bytes, float], bytes]
"""Posts a body to a URL within so many seconds and gives back the answer; raises CallFailed."""


def post(url: str, body: bytes, timeout: float) -> bytes:
    """Only status 200 is an answer; redirects are not followed."""
    try:
        return exchange(url, timeout, body=body, headers=JSON_HEADERS)
    except ExchangeFailed as error:
        raise CallFailed(f'"{url}" {error}') from error
