"""How a public name leaves: it warns for a while first (docs/stability.md says for how long)."""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def deprecated(since: str, removed_in: str, use: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function warn when it is called, and say so in its docstring.

    Parameters
    ----------
    since : str
        The first version in which it warns.
    removed_in : str
        The first version without it.
    use : str
        What to call instead.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    >>> from anchorot._deprecation import deprecated
    >>> @deprecated("0.3", removed_in="0.5", use="new_name")
    ... def old_name():
    ...     return 1
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        name = getattr(function, "__name__", str(function))
        advice = f"goes away in anchorot {removed_in}: use {use} instead"

        @functools.wraps(function)
        def warn_and_call(*args: P.args, **kwargs: P.kwargs) -> R:
            warnings.warn(f"{name} is deprecated since {since} and {advice}", DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        summary, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n")
        warn_and_call.__doc__ = f"{summary}\n\n.. deprecated:: {since}\n   It {advice}.\n{rest}"
        return warn_and_call

    return mark


def warn_of_name(old: str, since: str, removed_in: str, use: str) -> None:
    """Warn, where anchorot was called, of a name that goes away: of a class, or of a parameter."""
    told = f"{old} is deprecated since {since} and goes away in anchorot {removed_in}: use {use} instead"
    warnings.warn(told, DeprecationWarning, stacklevel=3)
