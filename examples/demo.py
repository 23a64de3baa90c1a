"""The main job on shipped examples: refute a leaky mechanism, fail to refute a sound one, look up a bound.

`make demo` runs this. It prints each command with its output and succeeds if and only if each verdict is the expected one.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

STEPS = [
    ("dpverify audit examples/leaky_count.py:noisy_count --epsilon 1 --inputs 10 11", 1),
    ("dpverify audit examples/sound_count.py:noisy_count --epsilon 1 --inputs 10 11", 0),
    ("dpverify bound gaussian --epsilon 1 --delta 1e-6", 0),
]
"""Each command with the exit code that its expected verdict has: 1 is refuted, 0 is nothing refuted."""


def main() -> int:
    """Run the steps and return 0 if all went as expected, else 1."""
    root = Path(__file__).resolve().parent.parent
    surprises = 0
    for command, expected in STEPS:
        print(f"$ {command}", flush=True)
        code = subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=root, check=False).returncode
        print(flush=True)
        if code != expected:
            surprises += 1
            print(f"A surprise: exit code {code} where {expected} was expected.\n", flush=True)
    if surprises:
        print("The demo failed.")
        return 1
    print("As expected: the leaky count is refuted, the sound one is not, and the bound is certified.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
