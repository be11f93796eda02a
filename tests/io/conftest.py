import signal

import pytest

from anchorot.io import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, in which the smallest files are kept too."""
    monkeypatch.setenv("ANCHOROT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "MIN_FILE_BYTES", 0)
    return tmp_path / "cache"


@pytest.fixture
def patience():
    """Fail a test that waits for ever."""
    waited = []

    def give_up(*_):
        waited.append(True)
        raise AssertionError("still waiting")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    assert not waited  # libraries catch what is raised in the middle of them
