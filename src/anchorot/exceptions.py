"""The errors anchorot raises on purpose; each is also the built-in kind that callers expect."""


class AnchorotError(Exception):
    """Base of all errors that anchorot raises on purpose."""


class InputError(AnchorotError, ValueError):
    """An argument or a file does not hold what is needed; the message says what came and what was needed."""


class ConvergenceWarning(UserWarning):
    """An iterative solver stopped before it converged; its result says ``converged=False``."""


class MissingExtraError(AnchorotError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; get it with: pip install 'anchorot[{extra}]'")
