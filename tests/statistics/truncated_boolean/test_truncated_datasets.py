"""Generators, tables and ballot files."""

import numpy as np
import pytest

from skfrontier.algos import (
    Cardinality,
    Intersection,
    MembershipOracle,
    as_truncation,
    make_truncation,
)
from skfrontier.datasets import (
    fetch_pabulib,
    fetch_preflib_nominations,
    load_hares,
    load_lists,
    make_truncated_boolean,
)
from skfrontier.datasets._fetch import data_folder
from skfrontier.estimators import TruncatedBooleanProduct

CATEGORIES = """# FILE NAME: 00060-00000001.cat
# TITLE: Session 7
# DATA TYPE: cat
# NUMBER ALTERNATIVES: 4
# NUMBER CATEGORIES: 1
# CATEGORY NAME 1: Approved
# ALTERNATIVE NAME 1: ann
# ALTERNATIVE NAME 2: bob
# ALTERNATIVE NAME 3: cyn
# ALTERNATIVE NAME 4: dan
5: {1, 2}
3: 4
2: {2, 3, 4}
1: {1}, {2, 3, 4}
"""
BUDGET = """META
key;value
description;A small budget
vote_type;approval
budget;100
min_length;1
max_length;3
max_sum_cost;90
PROJECTS
project_id;cost;name
12;40;Park
7;30;Library
99;25;Bench
VOTES
voter_id;age;vote
1;33;12,7
2;51;99
3;18;7,99
4;40;12,99
"""


def test_tables_add_up():
    patterns, counts = load_hares(as_counts=True)
    assert patterns.shape == (33, 6)
    assert counts.sum() == 68
    np.testing.assert_array_equal(load_hares().sum(axis=0), [26, 23, 32, 16, 28, 20])
    caught = np.bincount(load_hares().sum(axis=1), minlength=7)
    np.testing.assert_array_equal(caught, [0, 25, 22, 13, 5, 1, 2])
    assert load_lists().shape == (1202, 2)
    with pytest.raises(ValueError, match="name"):
        load_lists("unknown")


@pytest.mark.parametrize("kind", ["cardinality", "halfspace", "cnf", "dnf", "parity", "random"])
def test_generated_rows_lie_in_the_set(kind):
    S = make_truncation(kind, 10, random_state=0)
    X, z, info = make_truncated_boolean(
        300, 10, truncation=S, random_state=0, z_law="normal", return_params=True
    )
    assert X.dtype == np.uint8
    assert S.contains(X).all()
    assert z.shape == (10,)
    alpha = S.flips(X).mean(axis=0)
    assert np.abs(alpha - info["alpha"]).max() < 5 * 0.5 / 300**0.5
    again = make_truncated_boolean(300, 10, truncation=S, random_state=0, z_law="normal")
    np.testing.assert_array_equal(X, again)


def test_rejection_estimates_the_mass():
    S = MembershipOracle(lambda rows: rows[:, 0] == 1)
    X, _, info = make_truncated_boolean(
        2000, 30, truncation=S, z=np.zeros(30), random_state=0, return_params=True
    )
    assert X[:, 0].all()
    assert np.exp(info["log_mass"]) == pytest.approx(0.5, abs=0.05)


def test_nominations_from_a_file(tmp_path):
    path = tmp_path / "small.cat"
    path.write_text(CATEGORIES)
    data = fetch_preflib_nominations(path)
    np.testing.assert_array_equal(
        data["ballots"].toarray(), [[1, 1, 0, 0], [0, 0, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0]]
    )
    np.testing.assert_array_equal(data["counts"], [5, 3, 2, 1])
    assert data["names"] == ["ann", "bob", "cyn", "dan"]
    assert isinstance(data["truncation"], Cardinality)
    model = TruncatedBooleanProduct(data["truncation"])
    model.fit(data["ballots"], sample_weight=data["counts"])
    assert model.natural_parameters_.shape == (4,)
    path.write_text("5: {1, 2}\n")
    with pytest.raises(ValueError, match="categories"):
        fetch_preflib_nominations(path)


def test_sessions_are_found_by_their_number(tmp_path):
    folder = tmp_path / "preflib" / "00060"
    folder.mkdir(parents=True)
    listing = "00060-00000001.cat, original, , Session 7, , 26/02/2024\n"
    (folder / "info.txt").write_text(listing)
    (folder / "00060-00000001.cat").write_text(CATEGORIES)
    options = {"data_home": tmp_path, "download_if_missing": False}
    assert fetch_preflib_nominations(7, **options)["title"] == "Session 7"
    with pytest.raises(ValueError, match="from 7 to 7"):
        fetch_preflib_nominations(8, **options)
    with pytest.raises(OSError, match=r"info\.txt"):
        fetch_preflib_nominations(7, data_home=tmp_path / "empty", download_if_missing=False)


def test_budget_from_a_file(tmp_path):
    path = tmp_path / "small.pb"
    path.write_text(BUDGET)
    data = fetch_pabulib(path)
    np.testing.assert_array_equal(
        data["ballots"].toarray(), [[1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 1]]
    )
    np.testing.assert_array_equal(data["costs"], [40, 30, 25])
    assert data["names"] == ["Park", "Library", "Bench"]
    S = data["truncation"]
    assert isinstance(S, Intersection)
    np.testing.assert_array_equal(
        S.contains([[0, 0, 0], [1, 1, 1], [1, 1, 0]]), [False, False, True]
    )
    assert TruncatedBooleanProduct(S).fit(data["ballots"]).influence_.min() > 0
    path.write_text(BUDGET.replace("approval", "ordinal"))
    with pytest.raises(ValueError, match="ordinal"):
        fetch_pabulib(path)
    path.write_text(BUDGET.replace("1;33;12,7", "1;33;12,8"))
    with pytest.raises(ValueError, match="unknown project"):
        fetch_pabulib(path)
    path.write_text("META\nkey;value\n")
    with pytest.raises(ValueError, match="PROJECTS"):
        fetch_pabulib(path)
    with pytest.raises(OSError, match="missing"):
        fetch_pabulib(tmp_path / "no.pb")
    with pytest.raises(OSError, match="download_if_missing"):
        fetch_pabulib("nowhere", data_home=tmp_path, download_if_missing=False)


def test_real_nominations():
    path = data_folder() / "preflib" / "00060" / "00060-00000001.cat"
    if not path.is_file():
        pytest.skip(f"{path.name} is missing")
    data = fetch_preflib_nominations(path)
    assert data["ballots"].shape[1] == 921
    assert data["counts"].sum() == 18_202
    assert data["truncation"].contains(data["ballots"]).all()


def test_a_failed_download_leaves_no_folder(tmp_path, monkeypatch):
    def refused(url, known_hash, fname, path):
        path.mkdir(parents=True, exist_ok=True)
        raise ConnectionError("no route")

    monkeypatch.setattr("pooch.retrieve", refused)
    with pytest.raises(OSError, match="no route"):
        fetch_pabulib("nowhere", data_home=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    (tmp_path / "kept").mkdir()
    with pytest.raises(OSError, match="no route"):
        fetch_preflib_nominations(7, data_home=tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == []


def test_quoted_names_may_hold_semicolons(tmp_path):
    path = tmp_path / "quoted.pb"
    path.write_text(BUDGET.replace("Park", '"Park; and pond"'))
    assert fetch_pabulib(path)["names"][0] == "Park; and pond"
    with pytest.raises(TypeError, match="name must"):
        fetch_pabulib("")


@pytest.mark.parametrize(
    "given", ["nonempty", None, lambda X: X[:, 0] == 1, [[0, 1, 1], [1, 1, 0]]]
)
def test_generator_takes_what_estimators_take(given):
    X = make_truncated_boolean(50, 3, truncation=given, random_state=0)
    assert as_truncation(given, 3).contains(X).all()


def test_generator_needs_a_known_set():
    with pytest.raises(ValueError, match="known set"):
        make_truncated_boolean(5, 3, truncation="support")
    with pytest.raises(ValueError, match="3 features"):
        make_truncated_boolean(5, 3, truncation=make_truncation("cnf", 4, random_state=0))
