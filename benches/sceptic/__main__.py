"""The first things a sceptic asks, put to carom and to other engines.

    python benches/sceptic [engine ...] [--question NAME ...] [--table]

Engines: carom, mujoco, pymunk, bullet, drake, nimble (packages mujoco, pymunk, pybullet, drake, nimblephysics), rapier (compiled by cargo);
without names, all that can be imported. Answers are kept in benches/sceptic/answers.json, so engines that want different environments
(nimble: numpy below 2) can be asked one after another; --table prints what is kept. All take steps of 1 ms.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from pathlib import Path

from questions import QUESTIONS, Question
from scene import Lacks

ENGINES = ("carom", "mujoco", "drake", "rapier", "pymunk", "bullet", "nimble")
KEPT = Path(__file__).with_name("answers.json")


def answer(engine: object, question: Question) -> float | str:
    """A number, or why there is none."""
    try:
        value = float(question.ask(engine))
    except Lacks as lack:
        return str(lack)
    except (ArithmeticError, RuntimeError) as failure:
        return f"fails: {str(failure).splitlines()[0][:60]}"
    return value if math.isfinite(value) else "diverges"


def good(question: Question, value: float | str) -> bool:
    """Whether an answer is right."""
    return not isinstance(value, str) and abs(value - question.truth) <= question.within


def table(kept: dict) -> str:
    """Questions down, engines across; right answers are marked."""
    names = [name for name in ENGINES if name in kept]
    rows = ["| question | truth | " + " | ".join(f"{kept[name]['name']} {kept[name]['version']}" for name in names) + " |", "|---" * (len(names) + 2) + "|"]
    for question in QUESTIONS:
        cells = [kept[name]["answers"].get(question.key, "") for name in names]
        shown = [cell if isinstance(cell, str) else f"{'**' * good(question, cell)}{cell:.4g}{'**' * good(question, cell)}" for cell in cells]
        truth = f"{question.truth:.4g} ± {question.within:g} {question.unit}".strip()
        rows.append(f"| {question.text} | {truth} | " + " | ".join(shown) + " |")
    right = [sum(good(question, kept[name]["answers"].get(question.key, "")) for question in QUESTIONS) for name in names]
    rows.append(f"| right, of {len(QUESTIONS)} | | " + " | ".join(str(n) for n in right) + " |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engine", nargs="*", help=", ".join(ENGINES))
    parser.add_argument("--question", nargs="*", default=[question.key for question in QUESTIONS])
    parser.add_argument("--table", action="store_true", help="print the answers that are kept")
    given = parser.parse_args()
    for name, allowed in ((given.engine, ENGINES), (given.question, [question.key for question in QUESTIONS])):
        for one in name:
            if one not in allowed:
                parser.error(f"unknown name {one!r} (allowed: {', '.join(allowed)})")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in () if given.table else given.engine or ENGINES:
        try:
            engine = importlib.import_module(f"with_{name}")
        except ImportError as missing:
            print(f"{name}: {missing}", file=sys.stderr)
            continue
        entry = kept.setdefault(name, {"answers": {}})
        entry.update(name=engine.NAME, version=engine.version(), settings=engine.SETTINGS)
        for question in QUESTIONS:
            if question.key in given.question:
                value = entry["answers"][question.key] = answer(engine, question)
                KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
                print(f"{engine.NAME:<9} {question.key:<18} {value if isinstance(value, str) else f'{value:.6g}'}", file=sys.stderr, flush=True)
    print(table(kept))


if __name__ == "__main__":
    main()
