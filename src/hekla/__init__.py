"""hekla: a batch scheduler for AI and HPC clusters."""

from __future__ import annotations

__version__ = "0.1.0"
