"""The report: one HTML file that shows a run, or several side by side, offline."""

from hekla.simulation.report.page import report_html, write_report
from hekla.simulation.report.tables import Table

__all__ = ["Table", "report_html", "write_report"]
