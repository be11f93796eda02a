import pytest

from anchorot.io import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, in which the smallest files are kept too."""
    monkeypatch.setenv("ANCHOROT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "MIN_FILE_BYTES", 0)
    return tmp_path / "cache"
