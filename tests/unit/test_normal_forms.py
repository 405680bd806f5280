"""Unicode's normal forms are those of Python, and no text takes time with the square of its marks."""

from __future__ import annotations

import ast
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.test_architecture import ALL_TREES
from winnow.server.text.forms.normal_forms import Form, normalize

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
# What joins the character before it: marks, Hangul, kana, letters of India; and what joins nothing.
PIECES = "e\u0301\u0327\u1112\u1161\u11ab\u30ab\u3099\u09c7\u09be\ufb01<\u0338 \u4e00"


@pytest.mark.parametrize("form", FORMS)
@given(
    words=st.lists(st.text(st.sampled_from(PIECES), min_size=1, max_size=30), max_size=60), lead=st.integers(0, 40)
)
def test_a_long_text_has_the_normal_forms_of_python(form: Form, words: list[str], lead: int) -> None:
    text = "x" * lead + " ".join(words) * 9
    assert normalize(form, text) == unicodedata.normalize(form, text)


def test_a_text_of_marks_is_normalised_in_pieces() -> None:
    text = "a" + ("\u0301" * 600 + "\u0327" * 600) * 400
    pieces = (text[at : at + 1024] for at in range(0, len(text), 1024))
    assert normalize("NFC", text) == "".join(unicodedata.normalize("NFC", piece) for piece in pieces)


def test_no_module_of_the_server_normalises_in_another_way() -> None:
    callers = {
        name.removeprefix("winnow.")
        for name, tree in ALL_TREES.items()
        for node in ast.walk(tree)
        if name.removeprefix("winnow.").startswith("server.")
        and isinstance(node, ast.Attribute)
        and node.attr == "normalize"
        and isinstance(node.value, ast.Name)
        and node.value.id == "unicodedata"
    }
    assert callers == {"server.text.forms.normal_forms"}
