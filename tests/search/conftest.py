import pytest

import anchorot as ao
from tests.search.expected import results_of
from tests.strategies import clouds


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small index file, and what queries return."""
    file = tmp_path_factory.mktemp("saved") / "index"
    index = ao.SearchIndex.build(clouds(3), list("abc"), grid=(2, 2), path=file)
    return file.read_bytes(), results_of(index)
