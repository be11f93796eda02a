"""Claims of jobs on the files of one folder: each file is one job's, and what a lost one left is another's."""

import errno
import os
import threading
import time

import pytest

from anchorot.many import shards
from anchorot.many.shards import Claims
from tests.many import long_runs
from tests.many.long_runs import leave_behind

quick, short_lease = long_runs.quick, long_runs.short_lease


def test_a_file_is_claimed_by_one_job(tmp_path):
    with Claims(tmp_path, "a") as a, Claims(tmp_path, "b") as b:
        assert a.take(tmp_path / "x")
        assert not b.take(tmp_path / "x")
        assert b.take(tmp_path / "y")
        assert "a on " in (tmp_path / ".x.claim-0").read_text()


def test_a_file_that_is_there_is_not_claimed_and_no_claim_on_it_stays(tmp_path):
    leave_behind(tmp_path, "x")
    with Claims(tmp_path, "a") as claims:
        assert claims.take(tmp_path / "x")
        (tmp_path / "x").touch()
        claims.release(tmp_path / "x")
        assert not claims.take(tmp_path / "x")
    assert not list(tmp_path.glob("*claim*"))


def test_a_living_job_keeps_its_claims_however_slow_it_is(tmp_path, short_lease):
    with Claims(tmp_path, "slow") as slow, Claims(tmp_path, "quick") as quick:
        assert slow.take(tmp_path / "x")
        time.sleep(1.2 * shards.LEASE_SECONDS)
        assert not quick.take(tmp_path / "x")
        assert not quick.wait_for_lost([tmp_path / "x"])


def test_a_job_that_ends_for_any_reason_gives_up_its_claims_at_once(tmp_path):
    def interrupted():
        with Claims(tmp_path, "a") as claims:
            assert claims.take(tmp_path / "x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with Claims(tmp_path, "b") as claims:
        assert claims.take(tmp_path / "x")


def test_a_waiting_job_takes_over_when_the_lease_of_a_killed_job_ends(tmp_path, short_lease):
    leave_behind(tmp_path, "x", age=0)
    begin = time.monotonic()
    with Claims(tmp_path, "a") as claims:
        assert not claims.take(tmp_path / "x")
        assert claims.wait_for_lost([tmp_path / "x"])
        assert time.monotonic() - begin > shards.LEASE_SECONDS - 0.1
        assert claims.take(tmp_path / "x")


def test_no_clock_of_a_machine_counts(tmp_path, monkeypatch):
    with Claims(tmp_path, "a") as a:
        assert a.take(tmp_path / "x")
        for clock in ("time", "monotonic", "time_ns"):
            monkeypatch.setattr(time, clock, lambda: 1 << 62)
        with Claims(tmp_path, "b") as b:
            assert not b.take(tmp_path / "x")


YEAR_S = 365 * 86400.0


def test_a_claim_from_the_future_is_lost_after_a_lease(tmp_path, short_lease):
    leave_behind(tmp_path, "x", age=-YEAR_S)
    begin = time.monotonic()
    with Claims(tmp_path, "a") as claims:
        assert not claims.take(tmp_path / "x")
        assert claims.wait_for_lost([tmp_path / "x"])
        assert time.monotonic() - begin > shards.LEASE_SECONDS - 0.1
        assert claims.take(tmp_path / "x")


def test_a_living_owner_whose_clock_is_ahead_keeps_its_claims(tmp_path, short_lease):
    owner = leave_behind(tmp_path, "x", age=-YEAR_S)
    with Claims(tmp_path, "a") as claims:
        assert not claims.take(tmp_path / "x")
        for beat in range(3):
            time.sleep(0.6 * shards.LEASE_SECONDS)
            os.utime(owner, (time.time() + YEAR_S + beat,) * 2)
            assert not claims.take(tmp_path / "x")


@pytest.mark.parametrize("lost", [False, True])
def test_of_many_jobs_one_gets_each_file(tmp_path, lost):
    files = [tmp_path / f"{number:03d}" for number in range(60)]
    if lost:
        leave_behind(tmp_path, *(file.name for file in files))
    taken, start = [], threading.Barrier(4)

    def take_all(name):
        with Claims(tmp_path, name) as claims:
            start.wait()
            taken.extend(file for file in files if claims.take(file))
            start.wait()  # alive until all have tried

    threads = [threading.Thread(target=take_all, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == files


def between(monkeypatch, action):
    """Do something at the moment when a job has looked at the claims on a file, and before it makes its own."""
    real = os.link

    def link(*args):
        monkeypatch.setattr(os, "link", real)
        action()
        return real(*args)

    monkeypatch.setattr(os, "link", link)


def test_two_jobs_that_find_the_same_claim_lost_do_not_both_take_it_over(tmp_path, monkeypatch):
    leave_behind(tmp_path, "x")
    with Claims(tmp_path, "a") as a, Claims(tmp_path, "b") as b:
        between(monkeypatch, lambda: taken.append(b.take(tmp_path / "x")))
        taken = []
        taken.append(a.take(tmp_path / "x"))
        assert taken == [True, False]


def test_a_file_that_was_made_at_the_last_moment_is_not_taken(tmp_path, monkeypatch):
    file = tmp_path / "x"
    with Claims(tmp_path, "a") as a, Claims(tmp_path, "b") as b:

        def make():
            assert b.take(file)
            file.touch()
            b.release(file)

        between(monkeypatch, make)
        assert not a.take(file)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_suspended_owner_that_wakes_up_counts_as_alive_again(tmp_path):
    """Otherwise others would find its file free again and again, and could not take it."""
    owner = leave_behind(tmp_path, "x")
    leave_behind(tmp_path, "x")  # who took over is killed
    with Claims(tmp_path, "a") as claims:
        os.utime(owner)
        assert not claims.take(tmp_path / "x")
        threading.Timer(0.05, os.utime, [owner]).start()
        assert not claims.wait_for_lost([tmp_path / "x"])


def test_what_killed_jobs_leave_is_removed_and_what_others_need_is_not(tmp_path):
    leave_behind(tmp_path, "x")
    with Claims(tmp_path, "living") as living, Claims(tmp_path, "last") as last:
        assert living.take(tmp_path / "y")
        last.sweep()
        assert living.take(tmp_path / "z")
        assert not last.take(tmp_path / "y")
    assert {path.name for path in tmp_path.iterdir()} == {".y.claim-0", ".z.claim-0"}


def test_a_job_fails_fast_when_the_folder_becomes_read_only(tmp_path, monkeypatch):
    def utime(*args):
        raise OSError(errno.EROFS, "Read-only file system", args[0])

    leave_behind(tmp_path, "x", age=0)
    with Claims(tmp_path, "a") as claims:
        monkeypatch.setattr(os, "utime", utime)
        with pytest.raises(OSError, match="Read-only file system"):
            claims.wait_for_lost([tmp_path / "x"])
