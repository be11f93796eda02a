"""Hide what Windows and macOS lack from anchorot: modules and functions that only POSIX, or only Linux, has.

Python runs a `sitecustomize` that it finds on its path before anything else; so child processes are the same. Other
packages, which have their own ways for each system, keep what they have.
"""

import os
import signal
import sys
from types import ModuleType

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios")
OF_OS = (
    *("fork", "forkpty", "register_at_fork", "posix_spawn", "wait3", "wait4", "killpg", "setsid", "getpgid", "nice"),
    *("pread", "preadv", "pwrite", "pwritev", "fchmod", "fchown", "chown", "mkfifo", "sendfile", "copy_file_range"),
    *("getuid", "geteuid", "getgid", "getegid", "uname", "sysconf", "statvfs", "sched_getaffinity", "getloadavg"),
    *("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "O_TMPFILE", "memfd_create"),
)
OF_SIGNAL = (
    *("SIGKILL", "SIGALRM", "SIGHUP", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGSTOP", "SIGCONT"),
    *("alarm", "setitimer", "pause", "pthread_kill", "pthread_sigmask", "siginterrupt", "sigwait"),
)
OURS = ("anchorot", "__main__", "<run_path>")  # as modules, programs and files that a process runs are called


def hide(module: ModuleType, names: tuple[str, ...]) -> None:
    """Take names out of a module, but for others than us."""
    hidden = {name: vars(module).pop(name) for name in names if hasattr(module, name)}

    def find(name: str) -> object:
        asks = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        if name not in hidden or asks in OURS:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        return hidden[name]

    vars(module)["__getattr__"] = find


class Refuse:
    """A finder that lets nobody but other packages import a module."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise an ImportError if we ask."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
            frame = frame.f_back
        asks = "" if frame is None else frame.f_globals.get("__name__", "").partition(".")[0]
        if name in MODULES and asks in OURS:
            raise ImportError(f"there is no module {name!r} here")


hide(os, OF_OS)
hide(signal, OF_SIGNAL)
for name in MODULES:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Refuse())
