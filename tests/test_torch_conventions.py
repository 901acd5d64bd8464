"""What every topic with a PyTorch side relies on."""

import sys

import numpy as np
import pytest

from skfrontier.algos._torch import are_tensors, is_tensor


def test_arrays_are_no_tensors():
    assert not is_tensor(np.ones(2))
    assert not are_tensors(a=np.ones(2), b=[1.0], c=None)


def test_tensors_are_recognised(torch):
    assert is_tensor(torch.ones(2))
    assert are_tensors(a=torch.ones(2), b=None)


def test_mixed_kinds_are_refused_by_name(torch):
    with pytest.raises(TypeError, match=r"a: torch tensors, but b, c: not"):
        are_tensors(a=torch.ones(2), c=[1.0], b=np.ones(2))


def test_devices_must_agree(torch):
    with pytest.raises(TypeError, match="a on cpu, b on meta"):
        are_tensors(a=torch.ones(2), b=torch.ones(2, device="meta"))


def test_no_torch_means_no_tensor(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not is_tensor(np.ones(2))


def test_nn_names_the_extra_where_torch_is_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "skfrontier.nn", raising=False)
    with pytest.raises(ImportError, match=r"scikit-frontier\[torch\]"):
        import skfrontier.nn  # noqa: F401


def test_host_syncs_are_counted(torch, host_syncs):
    total = torch.arange(3.0).sum()
    assert host_syncs == []
    assert float(total) == 3
    assert total > 2
    assert total.item() == 3
    assert "item" in host_syncs
    assert "__bool__" in host_syncs
