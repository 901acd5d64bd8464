"""From directed scores to scores of edges."""

import numpy as np
from scipy import sparse

RULES = ("mean", "and", "or")


def edge_score_matrix(directed: sparse.csr_array, rule: str) -> sparse.csr_array:
    """Mean, minimum ('and') or maximum ('or') of the two directed scores of each pair; symmetric."""
    other = directed.T.tocsr()
    if rule == "mean":
        return sparse.csr_array((directed + other) * 0.5)
    if rule == "and":
        return sparse.csr_array(directed.minimum(other))
    return sparse.csr_array(directed.maximum(other))


def edges_at_least(scores: sparse.csr_array, kappa: float) -> tuple[np.ndarray, np.ndarray]:
    """Pairs ``i < j`` whose score reaches ``kappa`` and their scores, the highest first."""
    upper = sparse.triu(scores, k=1).tocoo()
    stays = upper.data >= kappa
    i, j, score = upper.row[stays], upper.col[stays], upper.data[stays]
    order = np.lexsort((j, i, -score))
    return np.column_stack([i, j])[order].astype(np.int64), score[order]
