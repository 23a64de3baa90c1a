"""Every reference row about several coordinates, at the digits that it prints: is the certified value the printed one?

    python benchmarks/several_coordinates.py --output reports/several-coordinates.md

The suite asks for some of them (`tests/compose/test_power_law.py`); all of them take minutes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "compose"))

from test_power_law import answer, meets, named, rows

from dpverify.errors import DpverifyError


def main() -> int:
    """Ask for each row and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only each n-th row")
    options = parser.parse_args()
    lines, seconds, wrong = [], [], 0
    for row in rows()[:: options.every]:
        start = time.process_time()
        try:
            found = answer(row)
            met, shown = meets(found, row["value"]), str(found)
        except DpverifyError as error:
            met, shown = False, str(error)
        seconds.append(time.process_time() - start)
        wrong += not met
        lines.append(f"| {named(row)} | {row['value']} | {shown} | {'met' if met else 'NOT MET'} | {seconds[-1]:.1f} |")
        print(lines[-1], flush=True)
    head = [
        "# Several coordinates: reference rows",
        "",
        f"Made by `python {' '.join(sys.argv)}`.",
        "",
        f"- rows: {len(lines)}; met to a unit of the last printed digit {len(lines) - wrong}, not met {wrong}",
        f"- processor time of a row: median {statistics.median(seconds):.1f} s, worst {max(seconds):.1f} s",
        "",
        "| quantity, p, epsilon, delta | printed | enclosure | | seconds |",
        "|---|---|---|---|---|",
    ]
    if options.output:
        options.output.write_text("\n".join([*head, *lines]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
