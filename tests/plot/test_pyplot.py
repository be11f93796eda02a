"""Pictures and pyplot: on its current Axes by default, without it where an Axes is given."""

import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.plot.fresh import plot, plt
from tests.plot.test_plot import PICTURES, drawn, every_picture


@every_picture
def test_a_picture_is_drawn_on_the_current_axes_of_pyplot(picture, monkeypatch):
    _, (left, right) = plt.subplots(1, 2)
    monkeypatch.setattr(plt, "close", lambda number: None)
    assert picture() is right
    assert plt.gca() is right
    assert drawn(right).has_data()
    assert not left.has_data()


@every_picture
def test_a_picture_is_a_figure_of_pyplot_where_there_is_none(picture):
    figure = picture().figure
    assert plt.get_fignums() == [figure.number]
    shown, own = io.BytesIO(), io.BytesIO()
    plt.savefig(shown, format="png")
    picture(ax=plot.new_figure(*figure.get_size_inches()).subplots()).figure.savefig(own, format="png")
    assert shown.getvalue() == own.getvalue()


@every_picture
def test_a_picture_on_its_own_axes_is_no_figure_of_pyplot(picture):
    picture(ax=plot.new_figure(6, 3).subplots())
    assert not plt.get_fignums()


def test_pictures_are_drawn_in_threads_at_the_same_time():
    def one(name):
        return drawn(PICTURES[name](ax=plot.new_figure(6, 3).subplots())).has_data()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, [*PICTURES] * 2))


def test_pictures_on_given_axes_leave_pyplot_alone():
    program = "import sys, anchorot.plot as p; print('matplotlib' in sys.modules); "
    program += "p.plan([[1.0]], ax=p.new_figure(4, 4).subplots()); print('matplotlib.pyplot' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False"]
