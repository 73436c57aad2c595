"""The questions of benches/sceptic: carom answers all of them, and docs/comparison.md shows what was answered."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "benches" / "sceptic"


@pytest.fixture()
def sceptic(monkeypatch: pytest.MonkeyPatch):
    """The modules of the bench, for one test."""
    monkeypatch.syspath_prepend(str(HOME))
    names = ("scene", "questions", "with_carom")
    yield tuple(importlib.import_module(name) for name in names)
    for name in names:
        sys.modules.pop(name, None)


def test_every_answer_is_right(sceptic) -> None:
    _, questions, engine = sceptic
    wrong = {}
    for question in questions.QUESTIONS:
        answer = question.ask(engine)
        if not abs(answer - question.truth) <= question.within:
            wrong[question.key] = (answer, question.truth)
    assert not wrong


def test_derivatives_are_those_of_the_simulation(sceptic) -> None:
    """The gradients of the table against differences of carom itself, which know nothing of them."""
    scene, questions, engine = sceptic

    class Plain:
        roll = staticmethod(engine.roll)

    for ask in (questions.bounce_slope, questions.pair_slopes, questions.restitution_slope, questions.stop_slope):
        assert ask(engine) == pytest.approx(ask(Plain), abs=2e-3), ask.__name__


def test_the_page_shows_the_answers(sceptic) -> None:
    spec = importlib.util.spec_from_file_location("sceptic_main", HOME / "__main__.py")
    main = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(main)
    kept = json.loads((HOME / "answers.json").read_text())
    page = (ROOT / "docs" / "comparison.md").read_text()
    assert main.table(kept) in page, "docs/comparison.md is not the table of benches/sceptic --table"
    for entry in kept.values():
        assert f"{entry['name']}: {entry['settings']}" in page
