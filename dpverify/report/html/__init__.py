"""The report as one HTML file: no network, no script, readable on a phone, in the dark and by a screen reader.

`page` lays it out, `figures` says what is drawn, `svg` draws, `style` is the look. Pure functions: the same results give the
same bytes.
"""

from dpverify.report.html.page import as_html

__all__ = ["as_html"]
