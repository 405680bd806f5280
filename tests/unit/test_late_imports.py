"""Modules that a child looked for: which of them are installed is found without importing any."""

from __future__ import annotations

import sys

import pytest

from winnow.server.readers.late_imports import find_installed

pytestmark = pytest.mark.both_users


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["no_such_module", "json.no_such_part"], ""),
        (["no_such_module", "xmlrpc.client"], "xmlrpc.client"),
        (["xmlrpc.client.deeper", "..", "", "a b", "\n", "x" * 10_000], ""),
        ([None, 3, {"a": 1}], ""),
        ({"xmlrpc": 1}, ""),
        (None, ""),
    ],
)
def test_the_first_installed_module_is_found_and_none_is_imported(names: object, found: str) -> None:
    assert find_installed(names) == found
    assert not [name for name in sys.modules if name.startswith("xmlrpc")]
