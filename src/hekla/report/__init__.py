"""The report: one HTML file that shows a run, or several side by side, offline."""

from hekla.report.page import report_html, write_report
from hekla.report.tables import Table

__all__ = ["Table", "report_html", "write_report"]
