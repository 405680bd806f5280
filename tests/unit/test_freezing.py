"""A frozen class refuses every change of its attributes."""

from __future__ import annotations

import pytest

from winnow.sandbox.child.guards import trust
from winnow.sandbox.child.guards.freezing import freeze, is_frozen


class Base:
    """Frozen below."""

    word = "before"

    def tell(self) -> str:
        """The word."""
        return self.word


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> None:
    assert freeze(Base)


def test_an_attribute_of_a_frozen_class_can_neither_be_set_nor_deleted() -> None:
    for change in (lambda: setattr(Base, "word", "after"), lambda: type.__setattr__(Base, "new", 1)):
        with pytest.raises(TypeError, match="immutable"):
            change()
    with pytest.raises(TypeError, match="immutable"):
        del Base.tell
    assert (Base.word, hasattr(Base, "new")) == ("before", False)


def test_instances_and_subclasses_of_a_frozen_class_are_as_free_as_ever() -> None:
    class Derived(Base):
        word = "derived"

    Derived.other = 1  # type: ignore[attr-defined]
    instance = Base()
    instance.word = "own"
    assert (Derived().tell(), instance.tell(), is_frozen(Derived)) == ("derived", "own", False)


def test_the_interpreters_own_classes_are_frozen_already() -> None:
    assert (is_frozen(int), freeze(int)) == (True, True)


def test_no_script_runs_where_a_class_cannot_be_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "TRUSTED", {Base})
    trust.freeze_trusted_classes()
    monkeypatch.setattr(trust, "freeze", lambda cls: False)
    with pytest.raises(RuntimeError, match="Base"):
        trust.freeze_trusted_classes()
