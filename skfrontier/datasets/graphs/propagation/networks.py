"""Signed networks of people: tribes, monks, politicians, traders, editors, voters."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skfrontier.datasets._fetch import fetch_file

_SIGNED_NETWORKS = (
    "https://raw.githubusercontent.com/NDS-VU/signed-network-datasets/"
    "4ac0db54932d4e0a1f8c13fb69add56e8b42c529/datasets/"
)
_SIGNED_DIRECTED = (
    "https://raw.githubusercontent.com/SherylHYX/pytorch_geometric_signed_directed/"
    "ecdf3fcf94b148ae9350c848e7774915495170d9/datasets/"
)
_SNAP = "https://snap.stanford.edu/data/"
_HASHES = {
    "highlandtribes": "a2ca3792c5d96fdf14a7196f884471ae82e9ea5a01e89ad3c6681562f743536b",
    "cloister": "38b4bc7ca354e66d0f9cf3942c9e920c4a280b881be6086ecb091d0045b381a6",
    "congress": "bd3432d8117575b5a09134a415b6a943bb06c78f8f5bdd7e47a783b93db28daa",
    "bitcoinalpha": "c8b88943ec93a84827401638c7485bdf0ebcb9b61c503ef57a6deef0c903ff05",
    "bitcoinotc": "85d1362b55fef60b421505760efb86644faf3880c2dca0d94d31c5e38a7b0c1d",
    "wikielections": "5bbc580d0753d0640b208d7379333479aa0bf31208a25b2ad8764774b02ad020",
    "twitterreferendum": "577226cfc94ced4ac4621d0fd246361f4ae62430454e4cad5b94d4d06ca87972",
    "sampson_adj": "1946e598cf537c2cd8b494fb70a109d0f5dda67d5da42fc1e123feec29d6db2f",
    "sampson_labels": "b8c359ab1ae386d2f52e67de57185e242f5d7572439feb00b2f6ec6b5cf3e9ad",
}


class SignedNetwork(NamedTuple):
    """A signed network.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n)
        ``adjacency[i, j]`` sums the weights of the edges from ``i`` to ``j``, without loops; symmetric if
        the network is undirected, else to be made so with ``symmetrize_signed``.
    nodes : int64 array of shape (n,)
        Numbers of the nodes in the file, ascending.
    """

    adjacency: sparse.csr_array
    nodes: np.ndarray


def fetch_highland_tribes(
    *, data_home: Any = None, download_if_missing: bool = True
) -> SignedNetwork:
    """Alliances (+1) and enmities (-1) of 16 tribes of the New Guinea highlands.

    Undirected, 58 edges, half of them negative.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    SignedNetwork

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From https://github.com/NDS-VU/signed-network-datasets (MIT licence, (c) 2021 Tyler Derr).

    References
    ----------
    K. E. Read, "Cultures of the central highlands, New Guinea", 1954.
    """
    return _fetch_csv("highlandtribes", False, data_home, download_if_missing)


def fetch_cloister(*, data_home: Any = None, download_if_missing: bool = True) -> SignedNetwork:
    """Esteem (+1) and disesteem (-1) among 18 monks and novices of a cloister.

    Directed, 125 arcs.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    SignedNetwork

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From https://github.com/NDS-VU/signed-network-datasets (MIT licence, (c) 2021 Tyler Derr).

    References
    ----------
    S. F. Sampson, "A novitiate in a period of change", PhD thesis, Cornell University, 1968.
    """
    return _fetch_csv("cloister", True, data_home, download_if_missing)


def fetch_congress(*, data_home: Any = None, download_if_missing: bool = True) -> SignedNetwork:
    """Favourable (+1) and unfavourable (-1) mentions among members of the US Congress.

    Directed, about 220 speakers, with loops and parallel arcs in the file (loops are dropped, arcs summed).

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    SignedNetwork

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From https://github.com/NDS-VU/signed-network-datasets (MIT licence, (c) 2021 Tyler Derr).

    References
    ----------
    M. Thomas, B. Pang, L. Lee, "Get out the vote: determining support or opposition from Congressional
    floor-debate transcripts", EMNLP 2006.
    """
    return _fetch_csv("congress", True, data_home, download_if_missing)


def fetch_bitcoin_alpha(
    *, data_home: Any = None, download_if_missing: bool = True
) -> SignedNetwork:
    """Trust ratings, -10 to 10, among traders of Bitcoin Alpha.

    Directed, 3783 traders, 24 186 ratings.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    SignedNetwork

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From https://github.com/NDS-VU/signed-network-datasets (MIT licence, (c) 2021 Tyler Derr).

    References
    ----------
    S. Kumar, F. Spezzano, V. S. Subrahmanian, C. Faloutsos, "Edge weight prediction in weighted signed
    networks", ICDM 2016.
    """
    return _fetch_csv("bitcoinalpha", True, data_home, download_if_missing)


def fetch_bitcoin_otc(*, data_home: Any = None, download_if_missing: bool = True) -> SignedNetwork:
    """Trust ratings, -10 to 10, among traders of Bitcoin OTC.

    Directed, 5881 traders, 35 592 ratings.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    SignedNetwork

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From https://github.com/NDS-VU/signed-network-datasets (MIT licence, (c) 2021 Tyler Derr).

    References
    ----------
    S. Kumar, F. Spezzano, V. S. Subrahmanian, C. Faloutsos, "Edge weight prediction in weighted signed
    networks", ICDM 2016.
    """
    return _fetch_csv("bitcoinotc", True, data_home, download_if_missing)


def fetch_wiki_elections(
    *, data_home: Any = None, download_if_missing: bool = True
) -> SignedNetwork:
    """Votes for (+1) and against (-1) candidates for administrator of Wikipedia.

    Directed, about 7100 editors, 100 693 votes.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    SignedNetwork

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From https://github.com/NDS-VU/signed-network-datasets (MIT licence, (c) 2021 Tyler Derr).

    References
    ----------
    J. Leskovec, D. Huttenlocher, J. Kleinberg, "Signed networks in social media", CHI 2010.
    """
    return _fetch_csv("wikielections", True, data_home, download_if_missing)


def fetch_twitter_referendum(
    *, data_home: Any = None, download_if_missing: bool = True
) -> SignedNetwork:
    """Agreement (+1) and disagreement (-1) among Twitter users on the Italian referendum of 2016.

    Undirected, about 10 900 users, 251 406 edges.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    SignedNetwork

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From https://github.com/NDS-VU/signed-network-datasets (MIT licence, (c) 2021 Tyler Derr).

    References
    ----------
    M. Lai, V. Patti, G. Ruffo, P. Rosso, "Stance evolution and Twitter interactions in an Italian
    political debate", NLDB 2018.
    """
    return _fetch_csv("twitterreferendum", False, data_home, download_if_missing)


def fetch_sampson(
    *, data_home: Any = None, download_if_missing: bool = True
) -> tuple[sparse.csr_array, np.ndarray]:
    """Weighted relations, -3 to 3, among 25 monks and novices, with their groups.

    Undirected.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    adjacency : csr_array of shape (25, 25)
    groups : int64 array of shape (25,)

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From https://github.com/SherylHYX/pytorch_geometric_signed_directed (MIT licence, (c) 2021 Yixuan He).

    References
    ----------
    S. F. Sampson, "A novitiate in a period of change", PhD thesis, Cornell University, 1968.
    """
    folder, names = _SIGNED_DIRECTED + "Sampson/", ("sampson_adj.npz", "sampson_labels.npy")
    adjacency, labels = (
        fetch_file(
            folder + name.removeprefix("sampson_"),
            f"signed/{name}",
            known_hash="sha256:" + _HASHES[name.partition(".")[0]],
            data_home=data_home,
            download_if_missing=download_if_missing,
        )
        for name in names
    )
    return sparse.csr_array(sparse.load_npz(adjacency)), np.load(labels).astype(np.int64)


def fetch_epinions(*, data_home: Any = None, download_if_missing: bool = True) -> SignedNetwork:
    """Trust (+1) and distrust (-1) among reviewers of Epinions.

    Directed, 131 828 users, 841 372 arcs.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    SignedNetwork

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From the SNAP collection, without a stated licence: cite the paper. The checksum is not fixed.

    References
    ----------
    J. Leskovec, D. Huttenlocher, J. Kleinberg, "Signed networks in social media", CHI 2010.
    """
    return _fetch_snap("soc-sign-epinions.txt.gz", data_home, download_if_missing)


def fetch_slashdot(*, data_home: Any = None, download_if_missing: bool = True) -> SignedNetwork:
    """Friends (+1) and foes (-1) among users of Slashdot, February 2009.

    Directed, 82 144 users, 549 202 arcs.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    SignedNetwork

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    From the SNAP collection, without a stated licence: cite the paper. The checksum is not fixed.

    References
    ----------
    J. Leskovec, D. Huttenlocher, J. Kleinberg, "Signed networks in social media", CHI 2010.
    """
    return _fetch_snap("soc-sign-Slashdot090221.txt.gz", data_home, download_if_missing)


def _fetch_csv(
    name: str, directed: bool, data_home: Any, download_if_missing: bool
) -> SignedNetwork:
    path = fetch_file(
        f"{_SIGNED_NETWORKS}{name}/{name}.csv",
        f"signed/{name}.csv",
        known_hash="sha256:" + _HASHES[name],
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    edges = np.loadtxt(path, delimiter=",", encoding="utf-8-sig")  # some files begin with a BOM
    return _network(edges, directed)


def _fetch_snap(file: str, data_home: Any, download_if_missing: bool) -> SignedNetwork:
    path = fetch_file(
        _SNAP + file,
        f"signed/{file}",
        known_hash=None,
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    return _network(np.loadtxt(path, comments="#"), directed=True)


def _network(edges: np.ndarray, directed: bool) -> SignedNetwork:
    """Rows ``u, v, weight`` with any node numbers."""
    nodes, ends = np.unique(edges[:, :2].astype(np.int64), return_inverse=True)
    i, j = ends.reshape(-1, 2).T
    weight = np.where(i == j, 0.0, edges[:, 2])
    adjacency = sparse.csr_array((weight, (i, j)), shape=(nodes.size, nodes.size))
    adjacency.sum_duplicates()
    if not directed:
        adjacency = sparse.csr_array(adjacency + adjacency.T)
    adjacency.eliminate_zeros()
    return SignedNetwork(adjacency, nodes)
