"""A mechanism can be sent to another process, copied and shown, whatever its parameters are. The registry supplies them."""

from __future__ import annotations

import copy
import pickle

import pytest

import dpverify as dv
from dpverify.errors import InputError
from dpverify.mechanisms import by_name


@pytest.mark.parametrize("name", ["laplace", "logistic", "gaussian", "generalized-gaussian", "randomized-response"])
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
