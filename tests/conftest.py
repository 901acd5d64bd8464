"""Fixtures of all topics that have a PyTorch side."""

import importlib.util

import pytest

NO_TORCH = "needs PyTorch: pip install 'scikit-frontier[torch]'"


def devices():
    """The torch devices that are there; where torch is not, one that skips with the reason."""
    if importlib.util.find_spec("torch") is None:
        return [pytest.param("cpu", marks=pytest.mark.skip(reason=NO_TORCH))]
    import torch

    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(params=devices())
def device(request):
    """Name of a torch device; the test runs once on each."""
    return request.param


@pytest.fixture
def torch():
    """The torch module; the test skips without it."""
    return pytest.importorskip("torch", reason=NO_TORCH)


@pytest.fixture
def host_syncs(torch, monkeypatch):
    """List of the calls, by name, that made the host wait for a tensor's values since the test began."""
    calls = []

    def counted(name, original):
        def wrapper(tensor, *args, **kwargs):
            calls.append(name)
            return original(tensor, *args, **kwargs)

        return wrapper

    waiting = [
        "cpu",
        "numpy",
        "item",
        "tolist",
        "__bool__",
        "__int__",
        "__float__",
        "__index__",
        "nonzero",
    ]
    for name in waiting:
        monkeypatch.setattr(torch.Tensor, name, counted(name, getattr(torch.Tensor, name)))
    return calls
