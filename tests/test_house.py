"""The house around the topics: import directions and weight, caching, public names, README."""

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import skfrontier
from skfrontier.algos._numba import inner, njit

ROOT = Path(__file__).parents[1]
LAYERS = ["skfrontier.algos", "skfrontier.estimators", "skfrontier.datasets"]
if importlib.util.find_spec("torch"):
    LAYERS.append("skfrontier.nn")
PUBLIC = [
    (layer, name) for layer in LAYERS for name in importlib.import_module(layer).__all__
]  # fmt: skip


def run_python(code, **environment):
    """Run code in a fresh interpreter and return what it prints."""
    finished = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


def test_import_contracts_are_kept():
    pytest.importorskip("importlinter")
    finished = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, skfrontier;"
        "print(sorted({'numba', 'numpy', 'scipy', 'sklearn', 'torch'} & set(sys.modules)))"
    )
    assert run_python(code) == "[]"


def test_algos_do_not_load_optional_or_higher_layers():
    code = (
        "import sys, skfrontier.algos;"
        "print(sorted({'sklearn', 'torch', 'matplotlib', 'dask', 'skfrontier.estimators',"
        " 'skfrontier.datasets'} & set(sys.modules)))"
    )
    assert run_python(code) == "[]"


KERNEL = """
from skfrontier.algos._numba import njit

@njit
def double(x):
    return 2 * x

@njit(fastmath=True)
def triple(x):
    return 3 * x
"""


def test_unwritable_cache_is_no_error(tmp_path):
    # Permissions do not stop root, so files stand where numba would make its cache folders.
    blocker = tmp_path / "file"
    blocker.touch()
    (tmp_path / "kernels.py").write_text(KERNEL)
    (tmp_path / "__pycache__").touch()
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
        "from kernels import double, triple; print(double(21), triple(14))"
    )
    nowhere = str(blocker / "below")
    places = dict.fromkeys(("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME"), nowhere)
    assert run_python(code, PYTHONDONTWRITEBYTECODE="1", **places) == "42 42"


def test_second_process_finds_the_compiled_kernel(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
        "from kernels import double; double(21); print(sum(double.stats.cache_hits.values()))"
    )
    cache = str(tmp_path / "cache")
    assert run_python(code, NUMBA_CACHE_DIR=cache) == "0"
    assert run_python(code, NUMBA_CACHE_DIR=cache) == "1"


@inner
def _doubled(x):
    return 2 * x


@njit
def _quadrupled(x):
    return 2 * _doubled(x)


def test_inner_kernels_are_for_kernels_only():
    assert _quadrupled(3) == 12
    with pytest.raises(TypeError, match="_doubled can be called by compiled functions only"):
        _doubled(3)


def test_version_is_a_release_number():
    assert re.fullmatch(r"\d+\.\d+\.\d+([.\w]+)?", skfrontier.__version__)


def test_show_versions_names_the_runtime_dependencies(capsys):
    tomllib = importlib.import_module("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    skfrontier.show_versions()
    shown = {line.partition(":")[0] for line in capsys.readouterr().out.splitlines()}
    assert {re.split(r"[<>=]", name)[0] for name in project["dependencies"]} <= shown


@pytest.mark.parametrize("layer", ["skfrontier", *LAYERS])
def test_layer_is_documented_and_lists_its_names_once(layer):
    module = importlib.import_module(layer)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.parametrize(("layer", "name"), PUBLIC)
def test_public_name_is_importable_and_documented(layer, name):
    public = getattr(importlib.import_module(layer), name)
    assert inspect.getdoc(public)
    assert (public.__doc__ or "").strip(), "the docstring must be its own, not inherited"


@pytest.mark.parametrize(("layer", "name"), PUBLIC)
def test_public_function_and_class_has_an_example(layer, name):
    public = getattr(importlib.import_module(layer), name)
    if inspect.isclass(public) and issubclass(public, BaseException):
        pytest.skip("warnings and errors need no example")
    if hasattr(public, "__dataclass_fields__"):
        pytest.skip("result objects are shown by the functions that return them")
    if name.startswith("Base"):
        pytest.skip("a base class is shown by the classes that derive from it")
    if name.startswith("fetch_"):
        pytest.skip("a download is no example to run")
    assert ">>>" in public.__doc__


@pytest.mark.parametrize("layer", LAYERS)
def test_api_reference_is_generated_from_the_layer(layer):
    # The template lists what is in __all__, so naming the layer there puts every name in.
    assert f"   {layer}\n" in (ROOT / "docs" / "api" / "index.md").read_text()


def test_readme_numbers_are_the_measured_ones():
    pytest.importorskip("psutil")
    readme = importlib.import_module("benchmarks.readme")
    text = readme.README.read_text()
    assert readme.filled(text) == text
