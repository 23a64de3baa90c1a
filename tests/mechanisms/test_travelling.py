"""A mechanism can be sent to another process, copied and shown, whatever its parameters are. The registry supplies them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import dpverify as dv
from dpverify.errors import InputError
from dpverify.mechanisms import by_name


@pytest.mark.parametrize(
    "name", ["laplace", "logistic", "gaussian", "generalized-gaussian", "randomized-response", "custom-noise"]
)
def test_a_mechanism_can_be_pickled_and_copied(name: str) -> None:
    family = by_name(name)
    mechanism = family(**{one.name: one.typical[0] for one in family.parameters})
    again = pickle.loads(pickle.dumps(mechanism))
    assert again is not mechanism
    assert (again, hash(again), repr(again)) == (mechanism, hash(mechanism), repr(mechanism))
    assert again.delta("1e-2").bounds() == mechanism.delta("1e-2").bounds()
    assert copy.deepcopy(mechanism) == copy.copy(mechanism) == mechanism
    with pytest.raises(AttributeError, match="immutable"):
        again.exact_sensitivity = 2
    with pytest.raises(AttributeError, match="immutable"):
        del again.exact_sensitivity


@pytest.mark.parametrize(
    "mechanism",
    [
        dv.Laplace("1/3", sensitivity="2/7"),
        dv.BoundedGaussian("1/3", upper=("1/3", 2), lower=-1, sensitivity=("1/7", "1/10")),
        dv.BoundedGaussian(1, upper=(10, 8), adjacency="l2", sensitivity="sqrt(20)"),
        dv.KNorm(1, p="3/2", dimension=2),
        dv.KaryRandomizedResponse("1/3", 4),
        dv.ReportNoisyMax("1/3", "gumbel", 3),
        dv.CustomNoise("1/3", "~exp(-x**4/3)"),
    ],
    ids=lambda one: one.name,
)
def test_what_is_shown_can_be_handed_in_again(mechanism: Any) -> None:
    assert eval(repr(mechanism), {type(mechanism).__name__: type(mechanism)}) == mechanism


def test_parameters_beyond_what_python_writes_are_shown_short() -> None:
    assert len(repr(dv.Laplace(scale="1e-5000"))) < 400
    assert dv.Gaussian.bound(epsilon=1, delta="1e-6", digits=5000).decimal(5000).startswith("4.2246788893268")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("gaus", "gaussian"), ("Laplace", "laplace"), ("DiscreteLaplace", "discrete-laplace"), ("stud", "student-t")],
)
def test_a_misspelt_mechanism_is_asked_about(name: str, meant: str) -> None:
    with pytest.raises(InputError, match=f"did you mean .*{meant}"):
        by_name(name)


def test_a_misspelt_public_name_is_asked_about() -> None:
    with pytest.raises(AttributeError, match=r"did you mean Gaussian"):
        _ = dv.Gausian
