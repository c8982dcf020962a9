"""Forecasting: when pending jobs will start, by letting the present state run on.

forecast      the present state, simulated many times: `forecast`
initial_state the present state as a simulation takes it over, and the jobs in it
history       ended jobs, read from files, and by what jobs are alike
run_times     how long a job may run: stated, learned, estimated or assumed
samples       one simulation after the other, in one process or several; jobs that may still come
reasons       what each job waits for now
calibration   how good forecasts would have been in a simulation: `calibrate`
"""

from __future__ import annotations

from hekla.insight.forecast.calibration import Calibration, Knowledge, Outcome, Trust, calibrate
from hekla.insight.forecast.forecast import Forecast, Sampling, Start, clock_time, forecast
from hekla.insight.forecast.history import Likeness, Past, RunTimeSource, read_history
from hekla.insight.forecast.samples import Arrivals, NoArrivals, SteadyArrivals, WrittenArrivals

__all__ = [
    "Arrivals",
    "Calibration",
    "Forecast",
    "Knowledge",
    "Likeness",
    "NoArrivals",
    "Outcome",
    "Past",
    "RunTimeSource",
    "Sampling",
    "Start",
    "SteadyArrivals",
    "Trust",
    "WrittenArrivals",
    "calibrate",
    "clock_time",
    "forecast",
    "read_history",
]
