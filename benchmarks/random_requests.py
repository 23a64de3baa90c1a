"""Random requests over the whole catalogue, each answer held against an independent evaluation at twice the precision.

Request number n of seed s is drawn by `random.Random(f"{s}:{n}")`, so each can be repeated alone (`--first n --requests 1`).
Families take turns; epsilon is log-uniform in [1e-12, 500], delta 0, log-uniform in [1e-300, 1] or uniform up to 0.999, the
sensitivity log-uniform in [1e-9, 1e9], p in [1, 40], with the edges over-represented. Every request ends as one of

- answered: an enclosure to 15 digits, or the least safe double. The independent route (`independent`, `independent_finite`:
  mpmath at 60 digits and more, straight from the definitions) then finds its own value within it ("confirmed"), or finds that
  the claim holds at the upper end of a least parameter and not below the lower end; or it cannot tell ("undecided"); or it
  contradicts ("wrong");
- refused: an error of dpverify with its own class and message;
- fault: anything else (another exception, a NaN, fewer digits than asked for, no answer in time).

    python benchmarks/random_requests.py --requests 5000 --seed 1 --output reports/random-requests
"""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from drawn_requests import Request
from independent import CannotTell
from judgements import CONFIRMED, DIGITS, ONE_SIDED, UNDECIDED, WRONG, judged
from mpmath import mp

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.errors import DpverifyError
from dpverify.mechanisms import names

NEGLIGIBLE = Fraction(1, 2**20_000)
"""What is no larger may be enclosed by 0 and a bound."""
PATIENCE = 12
CHECK_PATIENCE = 3
"""Seconds after which a request counts as hung, and the independent route gives up; by the clock 50 times as many."""


class Hung(BaseException):
    """A request took longer than it may."""


def _ring(*_: Any) -> None:
    raise Hung


def timed(work: Callable[[], Any], patience: float) -> tuple[float, Any]:
    """(seconds of processor time, result). The alarm rings after 50 times the patience by the clock: machines are shared."""
    signal.setitimer(signal.ITIMER_REAL, 50 * patience)
    start = time.process_time()
    try:
        result = work()
    finally:
        spent = time.process_time() - start
        signal.setitimer(signal.ITIMER_REAL, 0)
    return spent, result


def run(request: Request, *, check: bool, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Ask, judge, and say how it went. `known`: judgements of the same answers to the same requests."""
    record: dict[str, Any] = {"mechanism": request.name, "question": request.question}
    start = time.process_time()
    try:
        record["seconds"], answer = timed(request.asked, PATIENCE)
    except DpverifyError as error:
        record |= {"outcome": "refused", "class": type(error).__name__, "kind": kind(str(error)), "message": str(error)}
        record["seconds"] = time.process_time() - start
        return record
    except Hung:
        return record | {"outcome": "fault", "kind": "no answer in time", "seconds": time.process_time() - start}
    except Exception as error:
        text = f"{type(error).__name__}: {str(error)[:200]}"
        return record | {"outcome": "fault", "kind": text, "seconds": time.process_time() - start}
    if fault := faulty(answer):
        return record | {"outcome": "fault", "kind": fault, "answer": str(answer)}
    record["outcome"] = "answered"
    key = f"{request.described()} {answer!r}"
    if not check:
        return record
    if known is not None and key in known:
        return record | known[key]
    with mp.workdps(request.precision()):
        try:
            record["check seconds"], record["check"] = timed(lambda: judged(request, answer), CHECK_PATIENCE)
            if record["check"] == WRONG:  # the independent route may have lost digits: it must say so again with many more
                with mp.workdps(5 * request.precision()):
                    more, again = timed(lambda: judged(request, answer), 20 * CHECK_PATIENCE)
                record["check seconds"] += more
                record["check"] = again
        except CannotTell as error:
            record |= {"check": UNDECIDED, "why": str(error)}
        except Hung:
            record |= {"check": UNDECIDED, "why": "no independent value in time"}
        except Exception as error:  # of the outsider, who is no subject here
            record |= {"check": UNDECIDED, "why": f"{type(error).__name__}: {error}"[:120]}
    if record["check"] != CONFIRMED:
        record["answer"] = repr(answer)
    if known is not None:
        known[key] = {name: record[name] for name in ("check", "check seconds", "why", "answer") if name in record}
    return record


def faulty(answer: Any) -> str | None:
    """Why an answer is none."""
    if isinstance(answer, Enclosure):
        if answer.is_infinite or answer.is_exact:
            return None
        low, high = answer.exact_lower, answer.exact_upper
        if math.isnan(answer.lower) or math.isnan(answer.upper) or high < low:
            return "no number"
        return None if high - low <= 2 * abs(high) / 10**DIGITS or high <= NEGLIGIBLE else "fewer digits than asked for"
    return "no number" if answer != answer else None


def kind(message: str) -> str:
    """A message without its numbers."""
    text = re.sub(r"[-+]?\d[\d.,e+/-]*", "#", message)
    text = re.sub(r"\w+\((?:[^()]|\([^()]*\))*\)", "...", text)
    return text[:110]


def main() -> None:
    """Run the requests and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="these mechanisms alone; changes which request has which number")
    parser.add_argument("--show", action="store_true", help="print each request that is not confirmed or refused")
    parser.add_argument("--unchecked", action="store_true", help="ask, and do not judge: quick")
    parser.add_argument("--judge", type=int, default=10**9, help="judge the answers to that many requests alone")
    parser.add_argument(
        "--judged", type=Path, help="a file of judgements: an answer that was judged before is not judged again"
    )
    parser.add_argument("--kept", type=Path, help="a file of records: requests that stand in it are not asked again")
    parser.add_argument("--output", help="report without its suffix; .md and .json are written")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _ring)
    families = options.only or sorted(names())
    records = []
    known: dict[str, Any] = json.loads(options.judged.read_text()) if options.judged and options.judged.exists() else {}
    kept: dict[str, Any] = json.loads(options.kept.read_text()) if options.kept and options.kept.exists() else {}
    for number in range(options.first, options.first + options.requests):
        if str(number) in kept:
            records.append(kept[str(number)])
            continue
        request = Request(options.seed, number, families)
        record = run(request, check=not options.unchecked and number - options.first < options.judge, known=known)
        record["request"] = request.described()
        records.append(record)
        kept[str(number)] = record
        if options.judged and number % 50 == 0:
            options.judged.write_text(json.dumps(known, default=str))
        if options.kept and number % 50 == 49:
            options.kept.write_text(json.dumps(kept, default=str))
        if options.show and (
            record["outcome"] == "fault" or record.get("check") in (WRONG, UNDECIDED) or record["seconds"] > 2
        ):
            print(json.dumps(record, default=str), flush=True)
    if options.judged:
        options.judged.write_text(json.dumps(known, default=str))
    if options.kept:
        options.kept.write_text(json.dumps(kept, default=str))
    text, data = report(records, options)
    print(text, end="")
    if options.output:
        Path(options.output + ".md").write_text(text)
        Path(options.output + ".json").write_text(json.dumps(data, indent=1, default=str) + "\n")


def report(records: list[dict[str, Any]], options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """(Markdown, what the JSON holds)."""
    seconds = [record["seconds"] for record in records if "seconds" in record]
    checks = Counter(record["check"] for record in records if "check" in record)
    outcomes = Counter(record["outcome"] for record in records)
    refusals = Counter((record["class"], record["kind"]) for record in records if record["outcome"] == "refused")
    whys = Counter(record.get("why", "too close to tell") for record in records if record.get("check") == UNDECIDED)
    bad = [record for record in records if record["outcome"] == "fault" or record.get("check") == WRONG]
    slow = sorted(records, key=lambda record: -record.get("seconds", 0))[:20]
    lines = [
        "# Random requests over the whole catalogue",
        "",
        f"Made by `python benchmarks/random_requests.py --requests {options.requests} --seed {options.seed} --only NAMES"
        " --output reports/random-requests`, NAMES being those of the table in its order; what is asked, and how each answer"
        " is judged, stands at the head of that file.",
        "",
        f"- requests: {len(records):,}; answered {outcomes['answered']:,}, refused by name {outcomes['refused']:,},"
        f" faults {outcomes['fault']:,}",
        f"- of the answers to the first {min(options.judge, len(records)):,} requests: confirmed {checks[CONFIRMED]:,},"
        f" wrong {checks[WRONG]:,}; the independent route bounds"
        f" {checks[ONE_SIDED]:,} from one side and cannot tell of {checks[UNDECIDED]:,}",
        f"- processor time of a request: median {statistics.median(seconds) * 1000:.1f} ms, worst {max(seconds):.2f} s",
        "",
        "| mechanism | answered | confirmed | one-sided | undecided | wrong | refused | fault | median ms | worst s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    by_family: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        by_family[record["mechanism"]].append(record)
    for name, group in sorted(by_family.items()):
        had = Counter(record["outcome"] for record in group)
        judged_as = Counter(record["check"] for record in group if "check" in record)
        times = [record["seconds"] for record in group if "seconds" in record]
        counts = [
            had["answered"],
            *(judged_as[one] for one in (CONFIRMED, ONE_SIDED, UNDECIDED, WRONG)),
            had["refused"],
            had["fault"],
        ]
        cells = " | ".join(map(str, counts))
        lines.append(f"| {name} | {cells} | {statistics.median(times) * 1000:.1f} | {max(times):.2f} |")
    lines += ["", "| refused with | message, without its numbers | times |", "|---|---|---|"]
    lines += [f"| {name} | {text.replace('|', '/')} | {times} |" for (name, text), times in refusals.most_common()]
    lines += [
        "",
        "| the independent route cannot tell | times |",
        "|---|---|",
        *(f"| {why} | {n} |" for why, n in whys.most_common()),
    ]
    lines += ["", "| slowest | seconds | request |", "|---|---|---|"]
    lines += [
        f"| {one['mechanism']}, {one['question']} | {one['seconds']:.2f} | {_plain(one['request'])} |" for one in slow[:8]
    ]
    for record in bad:
        lines.append(f"\nBAD: {json.dumps(record, default=str)}")
    data = {
        "requests": len(records),
        "seed": options.seed,
        "outcomes": outcomes,
        "checks": checks,
        "median seconds": statistics.median(seconds),
        "worst seconds": max(seconds),
        "refusals": [{"class": name, "kind": text, "times": times} for (name, text), times in refusals.most_common()],
        "undecided": [record for record in records if record.get("check") == UNDECIDED],
        "bad": bad,
        "slowest": slow,
    }
    return "\n".join(lines) + "\n", data


def _plain(request: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in request.items() if key not in ("mechanism", "question"))


if __name__ == "__main__":
    main()
