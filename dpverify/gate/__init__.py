"""The gate: many claims checked in one run, under one budget of error, and what is likely wrong where one is refuted.

Claims come from decorated functions, from tests and from pyproject.toml; each is audited or decided by the catalogue, and
becomes an `Outcome`. Nothing is laid out here (that is `report`), and no statistics are made here (that is `audit`).
"""
