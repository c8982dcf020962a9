"""Durations as Go writes them: "1h30m", "10s", "250ms"."""

from __future__ import annotations

from hekla.objects.quantity import read_duration, write_duration

__all__ = ["read_duration", "write_duration"]
