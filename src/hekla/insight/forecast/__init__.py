"""Forecasting: when pending jobs will start, by letting the present state run on.

forecast      the present state, rolled forward many times: `forecast`
standing      the present state as a simulation takes it over, and the jobs in it
past          ended jobs, and by what jobs are alike; `history` reads them from files
run_times     how long a job may run: stated, learned, estimated or assumed
arrivals      jobs that may still come
rolls         one simulation after the other, in one process or several
reasons       what each job waits for now
calibration   how good forecasts would have been in a simulation: `calibrate`
"""

from __future__ import annotations

from hekla.insight.forecast.calibration import Calibration, Knowledge, Outcome, Trust, calibrate
from hekla.insight.forecast.forecast import Forecast, Sampling, Start, forecast
from hekla.insight.forecast.history import Likeness, Past, read_history
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
    "Sampling",
    "Start",
    "SteadyArrivals",
    "Trust",
    "WrittenArrivals",
    "calibrate",
    "forecast",
    "read_history",
]
