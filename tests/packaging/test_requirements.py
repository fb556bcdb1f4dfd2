"""The pinned files and the extras of the package speak of the same packages."""

import functools
import re
import tomllib

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import ROOT

# What people who only use the package do without.
TOOLS = {
    *("pytest", "pytest-xdist", "hypothesis", "ruff", "import-linter", "mypy"),
    *("build", "setuptools", "griffe", "prometheus-client"),
}
# Pinned though no extra names them: what the server's own packages need.
UNDERNEATH = {"h11", "click"}
FILES = {
    "application": ("requirements.txt",),
    "translate": ("requirements.txt",),
    "layer": ("requirements.txt",),
    "serve": ("requirements.txt", "requirements-serve.txt"),
    "beam": ("requirements.txt", "requirements-beam.txt"),
}


@functools.cache
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(*names: str) -> dict[str, str]:
    """Version by package of files of pinned requirements."""
    found = {}
    for name in names:
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                requirement = Requirement(line)
                (specifier,) = requirement.specifier
                assert specifier.operator == "==", line
                found[canonicalize_name(requirement.name)] = specifier.version
    return found


def required(extra: str | None) -> dict[str, Requirement]:
    """What an extra needs, with the extras that it names and the base."""
    lines = (
        project()["dependencies"] if extra is None else project()["optional-dependencies"][extra]
    )
    found = {} if extra is None else required(None)
    for requirement in map(Requirement, lines):
        if requirement.name == project()["name"]:
            for other in requirement.extras:
                found |= required(other)
        else:
            found[canonicalize_name(requirement.name)] = requirement
    return found


@pytest.mark.parametrize("extra", FILES)
def test_every_package_of_an_extra_is_pinned_within_its_range(extra):
    pinned = pins(*FILES[extra])
    for name, requirement in required(extra).items():
        assert name in pinned, f"{name} of [{extra}] is in none of {FILES[extra]}"
        assert requirement.specifier.contains(pinned[name]), (name, pinned[name])


@pytest.mark.parametrize("extra", ["application", "serve", "beam"])
def test_every_pinned_package_is_one_of_the_extra(extra):
    extras = set(required(extra)) | TOOLS | UNDERNEATH
    # TensorFlow's build without GPU, ten times smaller, is TensorFlow.
    assert set(pins(*FILES[extra])) - {"tensorflow-cpu"} <= extras


def test_tensorflows_two_builds_are_of_one_version_and_never_both():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    builds = [Requirement(line) for line in lines if line.startswith("tensorflow")]
    assert len({str(build.specifier) for build in builds}) == 1 and len(builds) == 2
    for machine in ("x86_64", "aarch64", "arm64"):
        for system in ("linux", "darwin", "win32"):
            place = default_environment() | {"platform_machine": machine, "sys_platform": system}
            assert sum(build.marker.evaluate(place) for build in builds) == 1


def test_the_base_is_numpy_alone():
    assert set(required(None)) == {"numpy"}


def test_each_missing_module_leads_to_the_extra_that_brings_it():
    from keras_attention._runtime.installation import error_of_missing_module

    distributions = {"ai_edge_litert": "ai-edge-litert", "apache_beam": "apache-beam"}
    modules = (
        *("tensorflow", "keras", "ai_edge_litert", "babel", "sentencepiece", "h5py", "rapidfuzz"),
        *("safetensors", "threadpoolctl", "matplotlib", "uvicorn", "httptools"),
        *("apache_beam", "sacrebleu"),
    )
    for module in modules:
        error = error_of_missing_module(ModuleNotFoundError("no", name=f"{module}.part"))
        extra = re.search(r'seq2seq\[(\w+)\]"`', str(error))[1]
        assert canonicalize_name(distributions.get(module, module)) in required(extra), module
    assert error_of_missing_module(ModuleNotFoundError("no", name="keras_attention.typo")) is None


def test_the_console_script_calls_the_same_code_as_the_doors():
    import importlib

    module, _, name = project()["scripts"]["keras-attention"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    for door in ("train.py", "export.py"):
        assert f"from {module} import run_verb" in (ROOT / door).read_text(encoding="utf-8")
