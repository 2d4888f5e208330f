"""Fuzz some targets, each in a process of its own, and print the outcomes.

Without --runs and --seconds, each target runs for 20 seconds. A finding ends the run with status
1, and its input is printed; ``python -m tests.fuzz --replay TARGET HEX`` checks it again.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.fuzz.targets import TARGETS


def fuzz(name: str, options: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.fuzz.one", name, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):  # it was killed, or did not start
        lines = [json.dumps({"inputs": 0, "seconds": 0, "count": {}, "error": done.stderr[-4000:]})]
    found: dict[str, Any] = {"name": name, **json.loads(lines[-1])}
    return found


def line_of(found: dict[str, Any]) -> str:
    """Return what came of a target: how many inputs had which outcome."""
    outcomes = ", ".join(f"{n:,} {word}" for word, n in found["count"].items())
    rate = found["inputs"] / max(found["seconds"], 1e-9)
    return f"{found['name']:<10} {found['inputs']:>11,} inputs, {rate:,.0f} per s: {outcomes}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--runs", type=int, help="number of inputs per target")
    parser.add_argument("--seconds", type=float, help="seconds per target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="number of targets at a time (2)")
    parser.add_argument("--plain", action="store_true", help="random damage, without atheris")
    parser.add_argument("--replay", nargs=2, metavar=("TARGET", "HEX"), help="check one input")
    given = parser.parse_args()
    if given.replay:
        name, text = given.replay
        print(TARGETS[name].check(bytes.fromhex(text)))  # noqa: T201
        return 0
    if unknown := [name for name in given.targets if name not in TARGETS]:
        parser.error(f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    options = [f"--seed={given.seed}"]
    if given.runs:
        options.append(f"--runs={given.runs}")
    if given.seconds or not given.runs:
        options.append(f"--seconds={given.seconds or 20}")
    has_atheris = importlib.util.find_spec("atheris") is not None
    if given.plain or not has_atheris:
        options.append("--plain")
    how = "random damage" if "--plain" in options else "atheris"
    print(f"fuzzing with {how}, seed {given.seed}", flush=True)  # noqa: T201
    with ThreadPoolExecutor(given.jobs) as pool:
        results = list(pool.map(lambda name: fuzz(name, options), given.targets or TARGETS))
    print("\n".join(map(line_of, results)))  # noqa: T201
    findings = [found for found in results if "error" in found]
    for found in findings:
        print(f"\n{found['name']}: {found.get('failed', '')}\n{found['error']}")  # noqa: T201
    print("no findings" if not findings else f"{len(findings)} findings")  # noqa: T201
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
