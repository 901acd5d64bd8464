"""Exact nearest neighbours with PyTorch matrix products, on a GPU where there is one.

The device only proposes: the four references of each query with the least product form of the
distance. The CPU measures those again in float64 on the original arrays, with the kernels of the
NumPy search, and the error bound of the product decides whether any other reference could still be
nearer. The few queries where one could are searched anew by the NumPy search.
"""

from typing import Any

import numpy as np

from skfrontier.algos.geometry.chamfer.blocks import map_blocks
from skfrontier.algos.geometry.chamfer.brute import BruteSearch
from skfrontier.algos.geometry.chamfer.metric import Metric
from skfrontier.algos.geometry.chamfer.scaling import read_only_rows

KEPT = 4  # references measured again for each query
ROWS = 4096  # queries of one block
MEMORY_SHARE = 0.1  # of the free device memory, for one block of products (and a few of its size)
CPU_ENTRIES = 2**22  # products of one block where there is no device memory to ask for


class TorchBruteSearch(BruteSearch):
    """Nearest reference rows like `BruteSearch`, with the same values, by PyTorch.

    Parameters
    ----------
    B : ndarray of shape (n_B, d), float32 or float64
        The reference rows, at least one, finite, nonzero where ``metric`` is angular.
    metric : Metric
        With ``p == 2``; its power is not applied.
    device : str or None, default=None
        A PyTorch device; None is 'cuda' if available, else 'cpu'.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    ValueError
        If ``metric.p`` is not 2.
    """

    def __init__(self, B: np.ndarray, metric: Metric, device: str | None = None):
        torch = _import_torch()
        if metric.p != 2.0:
            raise ValueError(f"backend='torch' accepts p=2 and angles only, got p={metric.p:g}.")
        super().__init__(B, metric)
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._references: Any = None  # on the device, from the first query on

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_references": None}

    def query(self, A: np.ndarray, n_jobs: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance (float64) and the row number of the nearest reference of each row.

        ``n_jobs`` is for the queries that fall back to the NumPy search.
        """
        distances, index, certain = map_blocks(self._query_device_block, A, ROWS)
        again = np.flatnonzero(~certain)
        if len(again):
            distances[again], index[again] = super().query(A[again], n_jobs)
        return distances, index

    def _query_device_block(self, A: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return distances, rows and whether each of them is certain."""
        A = read_only_rows(A)
        best = np.full(len(A), np.inf)
        index = np.zeros(len(A), np.intp)
        if len(A) == 0:
            return best, index, np.ones(0, bool)
        queries, spread, margin, rescale = self._prepared_queries(A)
        rows, certain = self._proposals(queries, spread, margin)
        candidates = np.empty((2, rows.size), np.int32)
        candidates[0] = np.repeat(np.arange(len(A)), rows.shape[1])
        candidates[1] = np.sort(rows, axis=1).ravel()
        self._recheck(candidates, rows.size, 0, A, rescale, best, index)
        return self._distances(best, rescale), index, certain

    def _proposals(
        self, queries: np.ndarray, spread: np.ndarray, margin: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the ``KEPT`` least lower bounds, and whether all others are ruled out.

        One more lower bound than rows is kept: where it exceeds the least upper bound, no reference
        outside the kept ones can be nearest.
        """
        torch = _import_torch()
        if self._references is None:
            self._references = tuple(
                torch.as_tensor(part, device=self.device)
                for part in (self._points, self._squares, self._lengths)
            )
        points, squares, lengths = self._references
        on_device = torch.as_tensor(queries, device=self.device)
        width = torch.as_tensor(spread, device=self.device)[:, None]
        bend = float(self._bend)
        n_refs = len(points)
        n_cols = max(self._device_entries(torch) // len(queries), KEPT + 1)
        upper = torch.full((len(queries), 1), np.inf, dtype=on_device.dtype, device=self.device)
        lows = upper[:, :0]
        rows = torch.empty((len(queries), 0), dtype=torch.int64, device=self.device)
        for start in range(0, n_refs, n_cols):
            part = slice(start, min(start + n_cols, n_refs))
            values = _full_precision_product(torch, on_device, points[part])
            slack = width * lengths[part]
            high = (values + slack).add_((1.0 + bend) * squares[part])
            upper = torch.minimum(upper, high.amin(dim=1, keepdim=True))
            low = (values - slack).add_((1.0 - bend) * squares[part])
            block_lows, block_rows = low.topk(min(KEPT + 1, low.shape[1]), largest=False)
            lows = torch.cat([lows, block_lows], dim=1)
            rows = torch.cat([rows, block_rows + start], dim=1)
            lows, order = lows.topk(min(KEPT + 1, lows.shape[1]), largest=False, sorted=True)
            rows = rows.gather(1, order)
        if n_refs <= KEPT:
            return rows.cpu().numpy(), np.ones(len(queries), bool)
        certain = lows[:, -1].cpu().numpy() > upper[:, 0].cpu().numpy() + margin
        return rows[:, :KEPT].cpu().numpy(), certain

    def _device_entries(self, torch: Any) -> int:
        if torch.device(self.device).type != "cuda":
            return CPU_ENTRIES
        free, _ = torch.cuda.mem_get_info(self.device)
        return int(MEMORY_SHARE * free) // self._points.itemsize


def _full_precision_product(torch: Any, queries: Any, points: Any) -> Any:
    """Return ``queries @ points.T`` without TF32, whose rounding the error bound does not cover."""
    setting = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        return queries @ points.T
    finally:
        torch.backends.cuda.matmul.allow_tf32 = setting


def _import_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "backend='torch' needs PyTorch; install the extra: pip install 'scikit-frontier[torch]'."
        ) from error
    return torch
