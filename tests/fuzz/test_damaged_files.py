"""Damaged files of every format are documents or have a reason, and nothing of them is left behind."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.fuzz.damaged_files import SEEDS
from tests.fuzz.reading import READ, Reading, damaged_files
from winnow.server.readers.formats.format_table import FORMATS

_FILES = 6 * len(SEEDS)
# Formats that share their reader with one that has a seed, and images, which need OCR.
_LIKE_OTHERS = {".docm", ".pptm", ".ppsx", ".xlsm", ".ods"}


def test_every_format_has_a_file_to_damage() -> None:
    assert {suffix for suffix, form in FORMATS.items() if not form.needs_ocr} == set(SEEDS) | _LIKE_OTHERS


@pytest.mark.walls
def test_damaged_files_are_read_or_refused_with_a_reason_and_leave_nothing(tmp_path: Path) -> None:
    with Reading(tmp_path, SEEDS) as reading:
        outcomes = [reading.read(*file) for file in islice(damaged_files(7, SEEDS), _FILES)]
        for suffix in SEEDS:
            reading.check_good_file(suffix)
        reading.check_nothing_is_left()
    read = outcomes.count(READ)
    assert (len(outcomes), 0 < read < _FILES) == (_FILES, True)
    # A library may crash on a damaged file, which is a reason; an exception of our own code is a defect.
    own = ("its parser failed", "its parser returned", "the reader")
    assert [reason for reason in outcomes if reason.startswith(own)] == []
