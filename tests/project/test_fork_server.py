"""A process forked from one that has imported already cannot be distinguished from a fresh one."""

import pytest

from tests.command_line import anchorot

PROGRAMS = {
    "what it is given": "import os, sys; print(os.getcwd(), sys.argv, os.environ['WORD'], __name__, sys.stdin.read())",
    "both streams": "import sys; print('é\\n' * 99_999); print('x' * 999_999, file=sys.stderr); sys.exit(3)",
    "a message for its end": "import sys; sys.exit('no')",
    "its own signal": "import os, signal; print('now', flush=True); os.kill(os.getpid(), signal.SIGKILL)",
    "Ctrl-C": "import os, signal\ntry: os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt: print('caught')",
    "its last words": "import atexit; atexit.register(print, 'bye')",
    "no terminal": "import sys; print([stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)])",
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_forked_process_ends_and_speaks_as_a_fresh_one(tmp_path, what):
    options = {"cwd": tmp_path, "program": PROGRAMS[what], "WORD": "w"}
    forked, fresh = (anchorot("a", "b\udcff c", **options, fresh=fresh) for fresh in (False, True))
    assert (forked.returncode, forked.stdout, forked.stderr) == (fresh.returncode, fresh.stdout, fresh.stderr)


def test_nothing_of_one_process_reaches_the_next(tmp_path):
    anchorot(cwd=tmp_path, program="import os, numpy; numpy.spoilt = True; os.environ['WORD'] = 'x'; os.chdir('/')")
    asked = "import os, numpy; print(hasattr(numpy, 'spoilt'), 'WORD' in os.environ, os.getcwd())"
    assert anchorot(cwd=tmp_path, program=asked).stdout == f"False False {tmp_path}\n"
