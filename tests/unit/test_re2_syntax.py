"""Patterns of kb.scan against RE2 itself: each construct of its syntax page means the same here, or is refused."""

from __future__ import annotations

import pytest
import re2  # type: ignore[import-untyped]

from winnow.server.errors import WinnowError
from winnow.server.operations.corpus.patterns import compile_pattern

pytestmark = pytest.mark.both_users

# Each kind of character: letters, digits, blanks, control characters, punctuation, other scripts.
TEXT = (
    "".join(map(chr, range(128)))
    + " kubelet Kubelet aab abab foo.bar [x] ab\nab\n\nab\r\nß é Ω ж 中 ٣ ² K ſ a&b &&]b] a-b] x{2} {,3} aaa "
    + "x{, x{a} xyz xxyyzz\n"
)
POSIX = (
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
    "word", "xdigit",
)  # fmt: skip
# What RE2 takes: single characters, composites, repetitions, groups, flags, empty strings, escapes, classes.
TAKEN = [
    ".", "(?s).", "[xyz]", "[^xyz]", r"\d", r"\D", r"\w\w", r"\pL", r"\p{Greek}", r"\PL", r"\P{Greek}",
    r"\p{^Greek}",
    r"\pN", r"\p{Lu}", r"\p{Han}", r"\p{Cyrillic}", "[[:alpha:]]", "[[:^alpha:]]",
    "xy", "x|y",
    "x+", "x{1,2}", "x{2,}", "x{2}", "x+?", "x{1,2}?", "x{2,}?", "x{2}?", "ax*", "ax?", "ax*?b?", "ax??",
    "a{0,2}b", "x{2", "x{,", "x{a}",
    "(ab)", "(?P<name>ab)", "(?<name>ab)", "(?:ab)+", "(?i)KUBE", "(?i:kube)let", "(?s:a.)", "(?m)^ab$",
    "(?U)a+",
    "(?U:a+?)b", "(?i-s)a.", "(?-i:a)b", "(?ms)^a.*?b$",
    "^\x00", r"\n$", r"\A\x00", r"\bab", r"a\Bb", r"\n\z",
    r"\a", r"\f", r"\t", r"\n", r"\r", r"\v", r"\*", r"\123", r"\12", r"\0", r"\x7F", r"\x{10FFFF}|b",
    r"\x{3A9}",
    r"\Q.\E", r"\Q[x]\E", r"\Qfoo.b\Ear", r"\Q{2}", r"\Q\d\E|b", r"\Qa\E+",
    r"[\d]", r"[^\d]+", r"[\D]", r"[^\D]", "[[:lower:]]", "[^[:lower:]]", "[[:^lower:]]", r"[\p{Greek}]",
    r"[^\p{Greek}]",
    r"[\pN]", r"[^\pN]", "[a-z]", "[^a-z0-9]", "[]a]", "[^]a]", "[a-]", "[-a]", "[a&b]", r"[\[x\]]", "[a.b*]",
    "[x[y]",
    "[[:upper:]]ubelet", "kubelet[[:space:]]", "[[:digit:][:space:]]+", "[[:alpha:]_-]+", "[[:word:]]+",
    r"[\w[:punct:]]",
    r"\p{L}+", r"[[:alpha:]\d]+", "[[:alpha:]-z]",
    *(f"[[:{name}:]]" for name in POSIX), *(f"[[:^{name}:]]" for name in POSIX),
    *(f"[^x[:{name}:]]" for name in POSIX),
]  # fmt: skip
# What the page lists as not supported, or what other languages take: refused with a word.
REFUSED = [
    "x*+", "x++", "x?+", "x{1,2}+", "x{2,}+", "(?P=name)", r"(a)\1", r"\g1", r"\g{name}", r"\k<name>",
    r"\k{name}",
    "(?#text)", "(?=re)", "(?!re)", "(?<=re)", "(?<!re)", "(?>re)", "(?|re)", "(?'name're)", "(?&name)",
    "(?P>name)",
    "(?R)", "(?1)", "(?(1)a|b)", r"\h", r"\H", r"\R", r"\X", r"\N", r"\K", r"\G", r"\C", r"\y", r"\Y", r"\o{12}",
    r"\cA", r"\p{L&}", r"\p{NoSuch}", r"\pX", "[[:nosuch:]]", "[a-z&&[b]]", "[a-z&&b]", "[a-z--[b]]", "[a||[b]]",
    "[a~~[b]]", "[:alpha:]", "(?x)a", "(?^a)", "[z-a]", "x{1001}", "x**", "(", ")", "[", "*a", r"\8", "(?i",
    "(?z)a",
    r"[\y]", r"[\Qx\E]",
]  # fmt: skip
# Where Python's meaning is kept, and RE2's is ASCII alone or another: only in these characters may they differ.
PYTHON = {r"\d", r"\D", r"\w\w", r"[\d]", r"[^\d]+", r"[\D]", r"[^\D]", r"[\w[:punct:]]", r"[[:alpha:]\d]+"}


def _matches(compiled: object, data: bytes) -> list[bytes]:
    return [match.group() for match in compiled.finditer(data) if match.group()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("pattern", TAKEN)
def test_a_construct_of_re2_means_what_it_means_there(pattern: str) -> None:
    data = TEXT.encode("ascii", "ignore") if pattern in PYTHON else TEXT.encode()
    own = compile_pattern(pattern)
    found = [data[slice(*match.span())] for match in own.find(data) if match is not None]
    assert found == _matches(re2.compile(pattern.encode()), data)
    assert found, "the text has something for each construct"


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_re2_does_not_have_is_refused_with_a_reason(pattern: str) -> None:
    with pytest.raises(WinnowError, match=r"^pattern: .{10}") as refused:
        compile_pattern(pattern)
    assert refused.value.reason == "INVALID_REQUEST"
