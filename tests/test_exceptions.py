"""Errors cross process boundaries."""

import pickle

import pytest

import anchorot as ao

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("cluster")]


def test_errors_of_workers_can_be_sent_home():
    error = pickle.loads(pickle.dumps(ao.MissingExtraError("POT", "pot")))
    assert str(error) == "POT is not installed; get it with: pip install 'anchorot[pot]'"
