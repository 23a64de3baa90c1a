"""What an audit could see, as text and as data."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.audit.planning import AuditPlan, PlanRow


def as_data(plan: AuditPlan) -> dict[str, Any]:
    """The plan as JSON-able data; `detectable_epsilon` is null where nothing would be seen."""
    rows = [
        {
            "mass": row.mass,
            "samples": row.samples,
            "detectable_epsilon": row.detectable_epsilon if math.isfinite(row.detectable_epsilon) else None,
            "exact": row.exact,
        }
        for row in plan.rows
    ]
    return {**dataclasses.asdict(plan), "rows": rows}


def as_text(plan: AuditPlan) -> str:
    """A table with a row for each probability of the violating event."""
    claim = f"epsilon = {plan.epsilon:.6g}, delta = {plan.delta:.6g}"
    if plan.resolution is None:
        head = f"What {plan.rows[0].samples:,} outputs a side can show against {claim}" if plan.rows else f"Against {claim}"
    else:
        head = f"Outputs a side that show an epsilon of {plan.epsilon + plan.resolution:.6g} against {claim}"
    lines = [
        f"{head},",
        f"at level alpha = {plan.alpha:.3g} with probability {plan.power:g}. Nothing was drawn.",
        "",
        f"  {'event probability':>17}  {'outputs a side':>17}  {'epsilon shown':>14}",
        *(_row(row) for row in plan.rows),
        "",
        "The probability is that of the violating event on the input where it is likelier. The event is taken as found;",
        "the outputs that are spent on finding it are part of the count.",
    ]
    return "\n".join(lines) + "\n"


def _row(row: PlanRow) -> str:
    about = "" if row.exact else "about "
    samples = "more than 10^12" if row.samples is None else f"{about}{row.samples:,}"
    shown = "none" if math.isinf(row.detectable_epsilon) else f"{about}{row.detectable_epsilon:.4f}"
    return f"  {row.mass:>17g}  {samples:>17}  {shown:>14}"
