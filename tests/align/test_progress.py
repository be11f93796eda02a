"""Progress bars of alignments: they appear late, on a terminal alone, change no result, and vanish when interrupted."""

import sys
import threading
import time
from io import StringIO

import numpy as np
import pytest

import anchorot as ao
from anchorot import _parallel, _progress
from tests.requirements import require_or_skip

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(60, 3)) * (3, 2, 1)
OTHERS = POINTS[RNG.permutation(60)]
EDGES = [(i, (i + step) % 24) for i in range(24) for step in (1, 5) if (i * step) % 7]


TIMER = threading.Timer


class Terminal(StringIO):
    def isatty(self):
        return True


class PromptTimer(threading.Timer):
    """A timer that does its work before `start` returns."""

    def start(self):
        super().start()
        self.join()


def prompt_terminal(monkeypatch):
    """A terminal on which bars appear at once; pytest replaces standard error after fixtures, so this is not one."""
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 0)
    monkeypatch.setattr(_progress.threading, "Timer", PromptTimer)
    return stream


def wait_for_threads(count):
    """Wait until no more threads than these are left; that of rich ends at its next turn."""
    end = time.monotonic() + 5
    while threading.active_count() > count:
        assert time.monotonic() < end, threading.enumerate()
        time.sleep(0.01)


def cells():
    try:
        from anndata import AnnData
    except ImportError:
        require_or_skip(False, "anndata is not installed")
    found = []
    for points in (POINTS, OTHERS):
        found.append(AnnData(np.zeros((len(points), 1))))
        found[-1].obsm["X_pca"] = points
    return found


def meshes():
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(2)
    egg = ball.vertices * [1, 1.3, 1.9] + 0.2 * ball.vertices**2
    return (egg, ball.faces), (egg, ball.faces)


CALLS = {
    "spaces": lambda **options: ao.align(ao.from_points(POINTS), ao.from_points(OTHERS), rng=0, **options),
    "landmarks": lambda **options: ao.align(POINTS, OTHERS, n_landmarks=20, rng=0, **options),
    "graphs": lambda **options: ao.align_graphs(EDGES, EDGES[1:], rng=0, **options),
    "graphs, few candidates": lambda **options: ao.align_graphs(EDGES, EDGES[1:], sparse=True, rng=0, **options),
    "embeddings": lambda **options: ao.align_embeddings(POINTS, OTHERS, rng=0, **options),
    "cells": lambda **options: ao.align_cells(*cells(), rng=0, **options),
    "meshes": lambda **options: ao.align_meshes(*meshes(), rng=0, **options),
}


@pytest.mark.filterwarnings("ignore::anchorot.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CALLS)
def test_an_alignment_shows_one_bar_from_its_worker_thread_and_finds_the_same(name, monkeypatch):
    terminal = prompt_terminal(monkeypatch)
    monkeypatch.setattr(_parallel, "MAX_QUICK_POINTS", 0)
    before = threading.active_count()
    found = CALLS[name]()
    assert "aligning" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    wait_for_threads(before)
    terminal.truncate(0)
    silent = CALLS[name](progress=False)
    assert terminal.getvalue() == ""
    np.testing.assert_array_equal(found.matches, silent.matches)
    np.testing.assert_array_equal(found.confidence, silent.confidence)
    assert found.objective == silent.objective


def test_tensors_show_a_bar_too_and_find_the_same(monkeypatch):
    torch = pytest.importorskip("torch")
    import anchorot.torch as aot

    terminal = prompt_terminal(monkeypatch)
    costs = [torch.cdist(side, side) for side in (torch.tensor(POINTS), torch.tensor(OTHERS))]
    found, silent = aot.align(*costs), aot.align(*costs, progress=False)
    assert terminal.getvalue().count("100%") >= 1
    assert found.matches.equal(silent.matches)
    assert found.objective.equal(silent.objective)
    terminal.truncate(0)
    aot.align_embeddings(torch.tensor(POINTS), torch.tensor(OTHERS), progress=False)
    assert terminal.getvalue() == ""


def test_short_work_and_a_pipe_show_nothing(monkeypatch):
    terminal = prompt_terminal(monkeypatch)
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 60)
    monkeypatch.setattr(_progress.threading, "Timer", TIMER)
    CALLS["spaces"]()
    assert terminal.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", stream := StringIO())
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 0)
    with _progress.late_bar(3, "aligning", "steps"):
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_a_step_that_never_ends_shows_a_bar_by_a_timer(monkeypatch):
    terminal = prompt_terminal(monkeypatch)
    monkeypatch.setattr(_progress.threading, "Timer", TIMER)
    with _progress.late_bar(3, "aligning", "steps"):
        for _ in range(100):
            if "aligning" in terminal.getvalue():
                break
            time.sleep(0.05)
        assert "aligning" in terminal.getvalue()


def test_more_steps_than_expected_stay_at_the_total(monkeypatch):
    terminal = prompt_terminal(monkeypatch)
    with _progress.late_bar(3, "aligning", "steps") as advance:
        advance(2)
        advance(5)
    assert "3 of 3 steps" in terminal.getvalue()
    assert "7 of 3" not in terminal.getvalue()


def test_an_interrupted_bar_vanishes_with_its_threads(monkeypatch):
    terminal = prompt_terminal(monkeypatch)
    before = threading.active_count()
    functions = []

    def work():
        with _progress.late_bar(3, "aligning", "steps") as advance:
            functions.append(advance)
            advance(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    wait_for_threads(before)
    end = terminal.getvalue().split("aligning")[-1]
    assert "\x1b[2K" in end  # the line is erased,
    assert "\x1b[?25h" in end  # and the cursor shown again
    length = len(terminal.getvalue())
    functions[0](1)  # by a worker that is not interrupted yet
    assert len(terminal.getvalue()) == length
