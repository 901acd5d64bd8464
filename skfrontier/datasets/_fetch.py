"""Downloads: one cache folder, one hash check, one clear message when offline."""

import contextlib
import os
from pathlib import Path
from typing import Any

import pooch


def data_folder(data_home: Any = None) -> Path:
    """Return the cache folder: ``data_home``, else ``$SKFRONTIER_DATA``, else pooch's for the library."""
    if data_home is not None:
        return Path(data_home).expanduser()
    configured = os.environ.get("SKFRONTIER_DATA")
    return Path(configured).expanduser() if configured else Path(pooch.os_cache("scikit-frontier"))


def fetch_file(
    url: str,
    path: str,
    *,
    known_hash: str | None,
    data_home: Any = None,
    download_if_missing: bool = True,
) -> Path:
    """Return the local path of a file, downloading it if it is not there.

    Parameters
    ----------
    url : str
        Where the file comes from.
    path : str
        Its place below the cache folder, with forward slashes.
    known_hash : str or None
        'sha256:...' of the file. None accepts whatever the source sends and whatever is there.
    data_home : path-like or None, default=None
        The cache folder, see `data_folder`.
    download_if_missing : bool, default=True
        Whether the network may be used.

    Raises
    ------
    OSError
        If the file is missing and may not or cannot be downloaded.
    ValueError
        If the file that was downloaded has another hash.
    """
    target = data_folder(data_home) / path
    if target.is_file() and (known_hash is None or pooch.hashes.hash_matches(target, known_hash)):
        return target
    advice = f"Download {url} by hand and put it at {target}, or set SKFRONTIER_DATA to its folder."
    if not download_if_missing:
        raise OSError(f"{target} is missing and download_if_missing=False. {advice}")
    missing = [folder for folder in target.parents if not folder.exists()]
    try:
        pooch.retrieve(url, known_hash=known_hash, fname=target.name, path=target.parent)
    except BaseException as error:
        for folder in missing:  # the innermost first; one that holds something stays
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):  # requests' errors are OSErrors
            raise OSError(f"cannot download {url}: {error}. {advice}") from error
        raise
    return target
