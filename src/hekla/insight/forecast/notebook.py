"""A forecast in a notebook: for each job the band in which it starts, and what it waits for."""

from __future__ import annotations

import math

from hekla.insight.forecast.forecast import Forecast, Start
from hekla.simulation.measures.words import spoken_seconds
from hekla.simulation.report.notebook import boxed, paragraph, table
from hekla.simulation.report.svg import Band, bands
from hekla.text import counted

MOST_DRAWN = 40


def forecast_html(forecast: Forecast) -> str:
    samples, jobs = counted(forecast.rolls, "sample"), counted(len(forecast.starts), "job")
    heading = f"{jobs} waiting; {samples}, {spoken_seconds(forecast.horizon)} ahead"
    if not forecast.is_complete:
        heading += "; interrupted: fewer samples than were asked for"
    drawn = [Band(one.job, one.p10, one.p50, one.p90) for one in forecast.starts[:MOST_DRAWN]]
    chart = [bands("start: P10 to P90, with a mark at P50", drawn)] if drawn else []
    rows = [(one.job, one.queue, *_moments(one), one.why) for one in forecast.starts]
    headers = ("job", "queue", "p10", "p50", "p90", "waits for")
    return boxed(heading, *chart, table(rows, headers), *map(paragraph, forecast.notes))


def _moments(start: Start) -> list[str]:
    return [
        "not in sight" if math.isinf(at) else spoken_seconds(at) for at in (start.p10, start.p50, start.p90)
    ]
