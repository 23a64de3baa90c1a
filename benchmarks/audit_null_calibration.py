"""How often sound mechanisms are refuted: audits at the exact claim, at level alpha, with early stop.

    python benchmarks/audit_null_calibration.py                        writes reports/audit-null-calibration.{md,json}; hours
    python benchmarks/audit_null_calibration.py --audits 960 --paired 240 --learned 240      fewer; the reports say how many

Each mechanism satisfies its claim with equality, so every refutation is a false alarm, and an auditor that tested what it
chose on the outputs on which it chose it would raise them by the hundred. If alarms had probability 0.01 each, more than
135 of 10,000, or 36 of 2,000, would have probability below 0.0005; other numbers are judged by the same probability.

In the second part the auditor chooses the worst of two pairs of inputs, the pair in either order, and bets on both meanwhile.
In the third part it is made to learn: trees are grown in every audit, however small, and their scores are among the events
that are tested.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from null_mechanisms import SOUND, VECTORS, Sound

from dpverify import __version__
from dpverify.audit import engine, families, learning, search
from dpverify.audit.api import audit
from dpverify.audit.neighbours import Pairs
from dpverify.audit.search import Picked
from dpverify.guarantees import Verdict

REPORTS = Path(__file__).resolve().parent.parent / "reports"
AUDITS, PAIRED, LEARNED = 10_000, 2_400, 2_000
SAMPLES, LEARNED_SAMPLES = 2_000, 5_000
ALPHA = "0.01"
IMPROBABLE = 0.0005


def most_refuted(audits: int, alpha: float) -> int:
    """The least number that is exceeded with probability at most `IMPROBABLE` if each alarm has probability alpha."""
    term = tail = (1 - alpha) ** audits
    count = 0
    while 1 - tail > IMPROBABLE:
        term *= (audits - count) / (count + 1) * alpha / (1 - alpha)
        count += 1
        tail += term
    return count


def row_of(sound: Sound, seeds: range, samples: int, alpha: str, paired: bool) -> dict[str, Any]:
    """All audits of one mechanism."""
    inputs = Pairs(pairs=(sound.inputs, sound.inputs[::-1]), relation=None) if paired else sound.inputs
    row = {"mechanism": sound.name, "audits": 0, "refuted": 0, "undecided": 0, "one_output_per_call": 0, "learned": 0}
    parts = []
    for seed in seeds:
        result = audit(
            sound.mechanism,
            inputs=inputs,
            samples=samples,
            alpha=alpha,
            seed=seed,
            outputs=sound.outputs,
            progress=False,
            **sound.claim,
        )
        row["audits"] += 1
        row["refuted"] += result.verdict is Verdict.REFUTED
        row["undecided"] += result.verdict is Verdict.UNDECIDED
        row["one_output_per_call"] += result.evidence["one_output_per_call"]
        row["learned"] += any("score" in test["description"] for test in result.evidence["tests"])
        if result.epsilon > 0:  # a curve may be tested at epsilon = 0
            parts.append(result.epsilon_lower / result.epsilon)
    return {**row, "median_part": round(float(np.median(parts)), 4) if parts else None}


def rows_of(
    sounds: list[Sound], audits: int, samples: int, alpha: str, kept: Path | None, *, paired: bool = False
) -> list[dict[str, Any]]:
    """The audits shared out evenly. Rows that are `kept` in a file are not made again."""
    rows = json.loads(kept.read_text()) if kept and kept.exists() else []
    for place, sound in enumerate(sounds):
        seeds = range(place, audits, len(sounds))
        if any((row["mechanism"], row["audits"]) == (sound.name, len(seeds)) for row in rows):
            continue
        started = time.perf_counter()
        rows.append(row_of(sound, seeds, samples, alpha, paired))
        print(f"{rows[-1]} {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        if kept:
            kept.write_text(json.dumps(rows))
    return rows


def pick_scores(*arguments: Any, **options: Any) -> list[Picked]:
    """What the search picks when nothing cheaper is ever enough, with the best score in the first place."""
    options["enough"] = float("inf")
    picked = search.pick(*arguments, **options)
    scores = [one for one in picked if "score" in one.event.describe()]
    order = [*scores, *(one for one in picked if one not in scores)]
    shares = [one.share for one in picked]
    return [
        Picked(one.event, one.forward, share, one.precise, one.promise, one.point)
        for one, share in zip(order, shares, strict=True)
    ]


def learning_always() -> None:
    """Grow few small trees, however few outputs there are, and test their scores at the largest share of the error."""
    learning.TREES, learning.FEWEST_ROWS, families.FEWEST_TO_BOOST, families.COUNTED_ENOUGH = 10, 50, 100, 10**9
    engine.pick = pick_scores


def main() -> int:
    """Run all audits, write both reports, and say whether the bounds were kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=AUDITS)
    parser.add_argument("--paired", type=int, default=PAIRED)
    parser.add_argument("--learned", type=int, default=LEARNED)
    parser.add_argument("--alpha", default=ALPHA)
    parser.add_argument("--show", action="store_true", help="print the report instead of writing it")
    parser.add_argument("--kept", type=Path, nargs=3, default=(None,) * 3, metavar="FILE", help="rows of each part, to go on")
    options = parser.parse_args()
    rows = rows_of(list(SOUND), options.audits, SAMPLES, options.alpha, options.kept[0])
    paired = rows_of(list(SOUND), options.paired, SAMPLES, options.alpha, options.kept[1], paired=True)
    learning_always()
    vectors = [sound for sound in SOUND if sound.name in VECTORS]
    learned = rows_of(vectors, options.learned, LEARNED_SAMPLES, options.alpha, options.kept[2])
    alpha = float(options.alpha)
    report = {
        "command": f"python benchmarks/audit_null_calibration.py --audits {options.audits} --paired {options.paired} "
        f"--learned {options.learned}",
        "versions": {"dpverify": __version__, "numpy": np.__version__},
        "alpha": options.alpha,
        "parts": [
            part("All shapes", rows, SAMPLES, options.audits, alpha),
            part("Worst of two pairs", paired, SAMPLES, options.paired, alpha),
            part("Learned scores", learned, LEARNED_SAMPLES, options.learned, alpha),
        ],
    }
    if options.show:
        print(as_text(report))
    else:
        (REPORTS / "audit-null-calibration.json").write_text(json.dumps(report, indent=2) + "\n")
        (REPORTS / "audit-null-calibration.md").write_text(as_text(report))
    return 0 if all(part["refuted"] <= part["most_refuted"] for part in report["parts"]) else 1


def part(title: str, rows: list[dict[str, Any]], samples: int, audits: int, alpha: float) -> dict[str, Any]:
    """One part of the report."""
    return {
        "title": title,
        "samples": samples,
        "audits": audits,
        "refuted": sum(row["refuted"] for row in rows),
        "most_refuted": most_refuted(audits, alpha),
        "rows": rows,
    }


def as_text(report: dict[str, Any]) -> str:
    """The tables that are committed."""
    lines = [
        "# False alarms of the auditor",
        "",
        f"`{report['command']}`, dpverify {report['versions']['dpverify']}, numpy {report['versions']['numpy']}.",
        "",
        f"Audits of mechanisms that satisfy their claim with equality, alpha = {report['alpha']}, early stop on, seeds from 0.",
        "Every refutation is a false alarm.",
    ]
    for section in report["parts"]:
        expected = float(report["alpha"]) * section["audits"]
        lines += [
            "",
            f"## {section['title']}",
            "",
            f"{section['audits']:,} audits, {section['samples']:,} outputs a side: {section['refuted']} refuted. "
            f"alpha allows {expected:g} on average; more than {section['most_refuted']} would have probability below "
            f"{IMPROBABLE}.",
            "",
            "| mechanism | audits | refuted | undecided | one output a call | scores tested | median part of the claim |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {row['mechanism']} | {row['audits']} | {row['refuted']} | {row['undecided']} | {row['one_output_per_call']} "
            f"| {row['learned']} | {row['median_part']} |"
            for row in section["rows"]
        ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
