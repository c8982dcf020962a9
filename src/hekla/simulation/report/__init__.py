"""The report: one HTML file that shows a run, or several side by side, offline."""

from hekla.simulation.report.page import key_html, report_html, write_report
from hekla.simulation.report.sections import Section
from hekla.simulation.report.tables import Table, escape, table_html

__all__ = ["Section", "Table", "escape", "key_html", "report_html", "table_html", "write_report"]
