"""Instructions of twelve kernels by callgrind, against a recorded baseline: a kernel that grew by more than a tenth fails.

    ./bench --kernels [--record]

``--record`` writes benches/kernels/baseline.json, which belongs into the commit that makes a kernel dearer or cheaper. Counts are those of one unit of work, the
difference of two runs, so that loading a scene does not count. They depend on the compiler and on the processor's instruction set, not on its load: the baseline names both.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASELINE = pathlib.Path(__file__).with_name("baseline.json")
FEW, MANY = 4, 24
"""Units of work of the two runs."""
ALLOWED = 1.10


def instructions(program: pathlib.Path, name: str, count: int) -> int:
    """Of a whole run."""
    said = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), name, str(count)], check=True, capture_output=True, text=True, timeout=600
    ).stderr
    found = re.search(r"Collected\s*:\s*(\d+)", said)
    if found is None:
        raise SystemExit(f"kernels: callgrind says nothing of {name}: {said[-300:]}")
    return int(found[1])


def machine() -> str:
    """What counts depend on beside the code."""
    rustc = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    return f"{platform.machine()}, rustc {rustc}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the baseline")
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("kernels: valgrind is not installed; nothing was counted", file=sys.stderr)
        return
    build = ["cargo", "build", "--release", "--quiet", "-p", "carom", "--no-default-features", "--example", "kernels", "--message-format=json"]
    messages = subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    built = [json.loads(line) for line in messages if line.startswith("{")]
    program = next(pathlib.Path(one["executable"]) for one in built if one.get("executable") and one["target"]["name"] == "kernels")
    names = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split()
    counts = {name: round((instructions(program, name, MANY) - instructions(program, name, FEW)) / (MANY - FEW)) for name in names}
    if given.record:
        BASELINE.write_text(json.dumps({"machine": machine(), "instructions": counts}, indent=1) + "\n")
    kept = json.loads(BASELINE.read_text())
    grown = []
    for name, count in counts.items():
        before = kept["instructions"].get(name)
        if before is None:
            grown.append(f"{name} has no baseline")
            continue
        print(f"{name:<18} {count:>10} instructions, {100 * (count / before - 1):+.1f} %")
        if count > ALLOWED * before:
            grown.append(f"{name} takes {count} instructions, {before} before")
    if grown and kept["machine"] != machine():
        print(f"kernels: the baseline is of {kept['machine']}, this is {machine()}: differences are told, not judged", file=sys.stderr)
        return
    if grown:
        raise SystemExit("kernels: " + "; ".join(grown) + "; where that is meant, run ./bench --kernels --record and commit the baseline")


if __name__ == "__main__":
    main()
