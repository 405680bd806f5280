"""Files with holes: what is read of them is all that was written, and little more."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.storage.files.holes import find_data

_PAGE = 65_536


@given(st.lists(st.integers(0, 60), max_size=6), st.integers(0, 5 * _PAGE))
def test_the_parts_that_are_no_holes_hold_all_that_was_written(pages: Sequence[int], rest: int) -> None:
    with tempfile.TemporaryFile() as file:
        for page in pages:
            os.pwrite(file.fileno(), b"x", page * _PAGE)
        os.ftruncate(file.fileno(), 61 * _PAGE + rest)
        parts = list(find_data(file.fileno()))
        whole = os.pread(file.fileno(), 66 * _PAGE, 0)
    held = [whole[start:end] for start, end in parts]
    assert parts == sorted(parts)
    assert b"".join(held).count(b"x") == len(set(pages))
    assert sum(map(len, held)) <= len(set(pages)) * _PAGE


def test_a_file_of_nothing_but_a_hole_has_no_part() -> None:
    with tempfile.TemporaryFile() as file:
        os.ftruncate(file.fileno(), 1 << 40)
        assert list(find_data(file.fileno())) == []


def test_where_the_system_tells_no_holes_the_whole_file_is_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "SEEK_DATA")
    with tempfile.TemporaryFile() as file:
        os.ftruncate(file.fileno(), _PAGE)
        assert list(find_data(file.fileno())) == [(0, _PAGE)]
