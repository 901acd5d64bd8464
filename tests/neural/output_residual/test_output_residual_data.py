"""Group subspaces and photo patches."""

import numpy as np
import pytest

from skfrontier.datasets import load_photo_patches, make_group_subspace


def test_groups_lie_near_their_own_subspace():
    X = make_group_subspace(4, 200, 30, 3, noise=0.01, random_state=0)
    assert X.shape == (4, 200, 30)
    for group in X:
        s = np.linalg.svd(group, compute_uv=False)
        assert s[3] < 0.05 * s[2]
    together = np.linalg.svd(X.reshape(-1, 30), compute_uv=False)
    assert together[11] > 0.1 * together[0]
    np.testing.assert_allclose(X.var(), 1, rtol=0.4)
    again = make_group_subspace(4, 200, 30, 3, noise=0.01, random_state=0)
    np.testing.assert_array_equal(X, again)


def test_wrong_sizes_are_named():
    with pytest.raises(ValueError, match="groups"):
        make_group_subspace(0, 2, 2, 1, noise=0)
    with pytest.raises(ValueError, match="noise"):
        make_group_subspace(1, 2, 2, 1, noise=-1)
    with pytest.raises(ValueError, match="patch"):
        load_photo_patches(patch=0)


def test_photo_patches_are_windows_of_the_photographs():
    pytest.importorskip("PIL", reason="Pillow reads the photographs")
    from sklearn.datasets import load_sample_images

    X = load_photo_patches()
    assert X.shape == (30, 196, 192)
    np.testing.assert_allclose(X.mean(axis=(0, 1)), 0, atol=1e-12)
    first, second = (photo / 255 for photo in load_sample_images().images)
    mean = first[:8, :8].ravel() - X[0, 0]
    np.testing.assert_allclose(X[0, 1] + mean, first[:8, 8:16].ravel())
    np.testing.assert_allclose(X[0, 14] + mean, first[8:16, :8].ravel())
    np.testing.assert_allclose(X[1, 0] + mean, first[:8, 112:120].ravel())
    np.testing.assert_allclose(X[15, 0] + mean, second[:8, :8].ravel())
    with pytest.raises(ValueError, match="larger than a photograph"):
        load_photo_patches(patch=100)
