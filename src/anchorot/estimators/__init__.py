"""Estimators for scikit-learn; most take a list of spaces as X instead of rows of numbers."""

from anchorot.exceptions import MissingExtraError

try:
    import sklearn  # noqa: F401
except ImportError:
    raise MissingExtraError("scikit-learn", "learn") from None

from anchorot.estimators.aligner import EmbeddingAligner
from anchorot.estimators.kernels import AnchorKernel, AnchorProcessKernel
from anchorot.estimators.neighbors import AnchorNeighborsClassifier
from anchorot.estimators.vectors import AnchorEmbedding, AnchorSignature

__all__ = [
    "AnchorEmbedding",
    "AnchorKernel",
    "AnchorNeighborsClassifier",
    "AnchorProcessKernel",
    "AnchorSignature",
    "EmbeddingAligner",
]
