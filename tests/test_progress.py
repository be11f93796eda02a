"""Progress bars: on terminals, in notebooks, and silent elsewhere."""

import sys
from io import StringIO
from textwrap import dedent

import numpy as np
import pytest

import anchorot as ao
from anchorot._progress import progress_bar
from tests.requirements import require_or_skip

CELLS = {
    "all pairs": """
        import numpy as np
        import anchorot as ao
        spaces = [ao.from_points(np.random.default_rng(n).normal(size=(4, 2))) for n in range(10)]
        distances = ao.pairwise(spaces)""",
    "silent": "distances = ao.pairwise(spaces, progress=False)",
    "an interrupted one": """
        from anchorot._progress import progress_bar
        try:
            with progress_bar(8, "<b>reading</b>", "files", done=1) as advance:
                advance(1)
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass""",
    "an alignment": """
        import time
        from anchorot import _parallel, _progress
        _progress.QUIET_SECONDS, _parallel.MAX_QUICK_POINTS = 0.05, 0
        points = np.random.default_rng(0).normal(size=(500, 3))
        found = ao.align(ao.from_points(points), ao.from_points(points[::-1]))""",
    "an interrupted alignment": """
        try:
            with _progress.late_bar(8, "aligning", "steps") as advance:
                time.sleep(0.5)
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass""",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What each cell leaves below it in the notebook."""
    try:
        import nbclient
        import nbformat
    except ImportError:
        require_or_skip(False, "nbclient is not installed")
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(folder / name))  # never the developer's own
        cells = [nbformat.v4.new_code_cell(dedent(source)) for source in CELLS.values()]
        notebook = nbformat.v4.new_notebook(cells=cells)
        nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    nbformat.validate(notebook)
    return dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True))


@pytest.mark.system
def test_the_bars_of_all_pairs_are_one_output_each_and_end_full(outputs):
    preparing, comparing = outputs["all pairs"]
    assert preparing.data["text/plain"].startswith("preparing: 100%, 10 of 10 spaces")
    assert comparing.data["text/plain"].startswith("comparing: 100%, 45 of 45 pairs")
    assert '<progress value="45" max="45">' in comparing.data["text/html"]
    assert "pairs/s" in comparing.data["text/html"]


@pytest.mark.system
def test_no_output_has_escape_codes_or_is_written_to_a_stream(outputs):
    assert "\x1b" not in str(outputs)
    assert {output.output_type for shown in outputs.values() for output in shown} == {"display_data"}


@pytest.mark.system
def test_nothing_is_shown_when_it_is_not_wanted(outputs):
    assert outputs["silent"] == []


@pytest.mark.system
def test_an_interrupted_bar_says_how_far_it_got_and_its_words_are_no_markup(outputs):
    (bar,) = outputs["an interrupted one"]
    assert bar.data["text/plain"].startswith("<b>reading</b>: 25%, 2 of 8 files")
    assert "&lt;b&gt;reading&lt;/b&gt;" in bar.data["text/html"]
    assert "left" in bar.data["text/html"]


def test_the_bar_of_an_alignment_is_one_output_and_vanishes_when_interrupted(outputs):
    (shown,) = outputs["an alignment"]
    assert shown.data["text/plain"].startswith("aligning: 100%, 20 of 20 stages")
    (gone,) = outputs["an interrupted alignment"]
    assert gone.data == {"text/plain": ""}


def uniform(count, n=8, seed=0):
    rng = np.random.default_rng(seed)
    return [ao.Space(rng.uniform(size=(n, n))) for _ in range(count)]


# -- progress ------------------------------------------------------------------------------------------------------


class Terminal(StringIO):
    def isatty(self):
        return True


def test_bar_tells_count_and_speed_on_a_terminal(monkeypatch, tmp_path):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    ao.pairwise(uniform(10), tile=3, checkpoint=tmp_path)
    assert "45 of 45 pairs" in terminal.getvalue()
    assert "pairs/s" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    (tmp_path / "000003-000006.npy").unlink()
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    ao.pairwise(uniform(10), tile=3, checkpoint=tmp_path)
    assert "45 of 45 pairs" in terminal.getvalue()


@pytest.mark.parametrize("stream", [None, Terminal(), StringIO()])
def test_bar_is_silent_where_standard_error_is_closed(monkeypatch, stream):
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    assert ao.pairwise(uniform(3), n_jobs=1).shape == (3, 3)


def test_bar_is_silent_in_a_pipe_or_when_not_wanted(monkeypatch, capsys):
    ao.pairwise(uniform(10))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    ao.pairwise(uniform(10), progress=False)
    with progress_bar(3, "reading", "files", enabled=False) as advance:
        advance(3)
    assert terminal.getvalue() == ""
