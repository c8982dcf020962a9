"""One profile for all laws: no deadline, few examples, and the same ones in every run.

`HYPOTHESIS_PROFILE=search pytest tests/properties` looks harder, with other examples every time.
"""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("search", settings.get_profile("default"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Commands and workers that tests start would each compile all of hekla where nobody may keep the result.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests that run in the background of a shell ignore Ctrl-C, and so would all commands that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
