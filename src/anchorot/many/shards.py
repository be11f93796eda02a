"""Several jobs that fill one checkpoint together: each tile is computed by one of them, those of a lost job by others.

A tile is no more than a file here, which some job has to make; so is the sign that the tiles were assembled.
A job claims a file before it makes it. All that jobs know of each other is in the folder, on whatever machine that is::

    .job-4f1c29aa8d03b7e6           a job: who it is, and, by its time of change, its last sign of life
    .000000-000016.npy.claim-0      a claim on 000000-000016.npy: another name, a hard link, of the job's file
    .000000-000016.npy.claim-1      the claim of a job that found the owner of the first one lost

- *Claims are links.* Of many jobs that make the same link one succeeds, on local disks as on NFS or Lustre, and a link
  is never seen half-written. As it is the job's file, one touch renews all claims of a job, and one gives up all.
- *A claim is lost* when its last sign of life is older than `LEASE_SECONDS`. Both times are set by the file system, so
  the clocks of machines do not matter. A sign from the future (a clock was set back, a backup was restored) counts as
  one of the moment at which a job first sees it.
- *A lost claim is taken over by making the next number*; no claim is removed or replaced while its file is missing.
  Otherwise, of two jobs that find a claim lost, the slower could remove the new claim of the quicker one.
- *Once the file is there*, its claims mean nothing and go. Therefore a job that has made a claim looks for the file
  once more: it may have been made, and its claims removed, just before.
- *A job that leaves* for whatever reason but a kill gives up its claims. It does not wait for others to finish: it
  waits until each job that has claims shows a sign of life, or is lost. So the last one alive leaves nothing undone.

A job that lives but is found lost, as after a suspension, makes a file that another makes too: that must do no harm.
"""

import errno
import os
import platform
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Self

from anchorot._progress import progress_bar
from anchorot.exceptions import InputError, InputWarning
from anchorot.io.atomic import replacing
from anchorot.io.safe_open import opened, own_file_exists
from anchorot.many.job import SpaceSummary, ThreadWorkers
from anchorot.many.tiles import Checkpoint, Tile

if TYPE_CHECKING:
    from anchorot.many.cluster import ClusterWorkers

BEAT_SECONDS = 5.0  # between two signs of life
LEASE_SECONDS = 120.0  # after which a job without one is lost: long enough for a file server that is restarted
WATCHES_PER_BEAT = 4  # looks at the claims of others while it waits
NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # where a file system has none


class Claims:
    """The claims of one job, which shows signs of life inside the context and gives up its claims at the end.

    For one thread. Files are those of one folder, and must appear whole.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._job = folder / f".job-{token_hex(8)}"
        self._about = f"{name} on {platform.node()}, process {os.getpid()}\n"  # for who wonders: cat shows it
        self._numbers: dict[Path, int] = {}  # of own claims
        self._seen: dict[Path, tuple[list[int], int]] = {}  # signs of life of others, and when they were first seen
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beat, name="anchorot signs of life", daemon=True)

    def __enter__(self) -> Self:
        """Show the first sign of life."""
        with replacing(self._job, follows_links=False) as temporary:
            temporary.write_text(self._about)
        os.utime(self._job)  # to the time of the file system: what writes a file may keep its own
        self._heart.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Give up what is claimed and was not made."""
        self._ended.set()
        self._heart.join()
        with suppress(OSError):  # a folder that is gone, or lost claims at the worst
            os.utime(self._job, (0, 0))
            self._job.unlink()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with suppress(OSError):  # what is wrong with the folder is found by who writes to it
                os.utime(self._job)

    def take(self, file: Path) -> bool:
        """Claim a file; False if it is there, or is claimed by a job that is not known to be lost."""
        if own_file_exists(file):
            return False
        signs = _signs_of_life(file)
        if not self._are_lost(file, signs) or not self._link(_claim_path(file, len(signs))):
            return False
        self._numbers[file] = len(signs)
        if not own_file_exists(file):
            return True
        self.release(file)
        return False

    def release(self, file: Path) -> None:
        """Remove the claim on a file that is there now, and those that it was taken over from."""
        for number in range(self._numbers.pop(file) + 1):
            with suppress(OSError):
                _claim_path(file, number).unlink()

    def wait_for_lost(self, files: Iterable[Path]) -> bool:
        """Wait until one of these files can be taken, or until none needs that: it is there, or its owner is alive."""
        known = {file: _signs_of_life(file) for file in files}
        while known:
            for file, before in list(known.items()):
                signs = _signs_of_life(file)
                if own_file_exists(file):
                    del known[file]
                elif self._are_lost(file, signs):
                    return True
                elif signs != before:
                    del known[file]
            if known:
                time.sleep(BEAT_SECONDS / WATCHES_PER_BEAT)
                os.utime(self._job)  # the heartbeat by which others see this job; without it none could wait
        return False

    def sweep(self) -> None:
        """Remove what lost jobs have left, when all files are there and claims mean nothing any more."""
        for path in (*self._job.parent.glob(".*.claim-*"), *self._job.parent.glob(".*job-*")):
            with suppress(OSError):
                if self._are_lost(path, [path.lstat().st_mtime_ns]):
                    path.unlink()

    def _link(self, claim: Path) -> bool:
        """Make a claim; False if it is another job's."""
        try:
            os.link(self._job, claim)
        except FileExistsError:
            with suppress(FileNotFoundError):
                return claim.samefile(self._job)  # made by us, if a network lost the reply and asked again
            return False
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            raise InputError(
                f"checkpoint {claim.parent}: the file system has no hard links, which shards need; take another folder"
            ) from error
        return True

    def _are_lost(self, file: Path, signs: list[int]) -> bool:
        """Whether none of the signs of life of those who have claimed a file is recent."""
        if not signs:
            return True
        now = self._job.stat().st_mtime_ns
        if self._seen.get(file, ((), 0))[0] != signs:
            self._seen[file] = signs, now
        first_seen = self._seen[file][1]
        return now - min(max(signs), first_seen) > LEASE_SECONDS * 1e9


def _claim_path(file: Path, number: int) -> Path:
    return file.with_name(f".{file.name}.claim-{number}")


def _signs_of_life(file: Path) -> list[int]:
    """The last signs of life of all that have claimed a file, in nanoseconds of the file system's clock."""
    found: list[int] = []
    with suppress(FileNotFoundError):
        while True:
            claim = _claim_path(file, len(found))
            with opened(claim, follows_links=False) as handle:  # opened, since NFS then asks the server
                found.append(os.fstat(handle.fileno()).st_mtime_ns)
    return found


class Shard(Claims):
    """Job i of n that fill a checkpoint together."""

    def __init__(self, store: Checkpoint, i: int, n: int) -> None:
        super().__init__(store.folder, f"shard {i}/{n}")
        self._store, self._i, self._n = store, i, n

    def fill(
        self,
        workers: "ThreadWorkers | ClusterWorkers",
        tiles: list[Tile],
        summaries: Sequence[SpaceSummary],
        progress: bool,
    ) -> bool:
        """Compute tiles that no other job is at; whether all are there and this job is the one to assemble them.

        It begins with its share, a stretch of tiles that needs few spaces, and goes on with those of the next jobs.
        """
        first, n_repeated = self._i * len(tiles) // self._n, 0
        todo = self._store.missing(tiles[first:] + tiles[:first])
        total, left = (sum(tile.n_pairs for tile in some) for some in (tiles, todo))
        with progress_bar(total, "comparing", "pairs", progress, done=total - left) as advance:
            while todo:
                free = (tile for tile in todo if self.take(self._store.path(tile)))
                for tile, found in workers.run(free, summaries):
                    if own_file_exists(self._store.path(tile)):
                        n_repeated += 1
                    else:
                        self._store.write(tile, found)
                    self.release(self._store.path(tile))
                    advance(tile.n_pairs)
                todo = self._store.missing(todo)
                if not self.wait_for_lost(map(self._store.path, todo)):
                    break
        if n_repeated:
            text = f"{n_repeated} tiles were computed by two jobs: one of them showed no sign of life for too long"
            warnings.warn(text, InputWarning, stacklevel=3)
        while not self._store.missing(todo):
            if self.take(self._store.assembled):
                return True
            if not self.wait_for_lost([self._store.assembled]):
                break
        return False

    def note_assembled(self) -> None:
        """Let no other job assemble the tiles."""
        with replacing(self._store.assembled, follows_links=False):
            pass
        self.release(self._store.assembled)
        self.sweep()
