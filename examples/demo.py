"""The main job on a shipped example: refute a leaky mechanism, fail to refute a sound one, look up a bound.

`make demo` runs this. It prints each command with its output and succeeds if and only if each verdict is the expected one.
"""

import shlex
import subprocess
import sys
from pathlib import Path

INPUTS = "--inputs examples/visits.py:WEEK examples/visits.py:WEEK_WITHOUT_ONE"
STEPS = [
    (f"dpverify audit examples/visits.py:leaky --epsilon 1 {INPUTS}", 1),
    (f"dpverify audit examples/visits.py:sound --epsilon 1 {INPUTS}", 0),
    ("dpverify bound laplace --epsilon 1 --delta 0 --sensitivity 3", 0),
]


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    surprises = 0
    for command, expected in STEPS:
        print(f"$ {command}", flush=True)
        done = subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=root, check=False)
        print(flush=True)
        if done.returncode != expected:
            surprises += 1
            print(f"Surprise: exit code {done.returncode} where {expected} was expected.\n", flush=True)
    print(
        "The leaky mechanism was refuted, the sound one was not, and the bound was found."
        if not surprises
        else "The demo failed."
    )
    return min(surprises, 1)


if __name__ == "__main__":
    sys.exit(main())
