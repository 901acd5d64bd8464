"""Masked-diffusion decoding: which predictions may be committed together, and provably so."""

from skfrontier.algos.neural.decoding.commit import (
    factor_commit,
    frechet_commit,
    threshold_commit,
    top_k_commit,
)
from skfrontier.algos.neural.decoding.confidence import token_confidence
from skfrontier.algos.neural.decoding.decode import decode_masked
from skfrontier.algos.neural.decoding.result import CommitResult, DecodeResult, TokenConfidence

__all__ = [
    "CommitResult",
    "DecodeResult",
    "TokenConfidence",
    "decode_masked",
    "factor_commit",
    "frechet_commit",
    "threshold_commit",
    "token_confidence",
    "top_k_commit",
]
