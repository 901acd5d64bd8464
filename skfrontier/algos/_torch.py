"""Which library arrays belong to, without importing torch where nobody has."""

import sys
from typing import Any


def is_tensor(value: Any) -> bool:
    """Whether ``value`` is a torch tensor; torch is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def are_tensors(**arrays: Any) -> bool:
    """Whether the arrays are torch tensors, all of them; None counts for neither side.

    Parameters
    ----------
    **arrays : array-like, tensor or None
        The arrays of one call by the name of their parameter.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        If some are tensors and others are not, or tensors lie on different devices.
    """
    given = {name: array for name, array in arrays.items() if array is not None}
    tensors = {name: array for name, array in given.items() if is_tensor(array)}
    if not tensors:
        return False
    if len(tensors) < len(given):
        others = ", ".join(sorted(set(given) - set(tensors)))
        raise TypeError(
            f"{', '.join(tensors)}: torch tensors, but {others}: not; "
            "give either tensors only or arrays only."
        )
    devices = {name: str(tensor.device) for name, tensor in tensors.items()}
    if len(set(devices.values())) > 1:
        where = ", ".join(f"{name} on {device}" for name, device in devices.items())
        raise TypeError(f"The tensors must lie on one device, got {where}.")
    return True
