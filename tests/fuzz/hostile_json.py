"""Hostile bodies of frames."""

from __future__ import annotations

from .choices import Choices

_KEYS = ["result", "call", "params", "out", "done", "error", "status", "each", "type", "message", "line", "column",
         "source_line", "hint", "", "x", "\\u0072esult", "\\ud800"]  # fmt: skip
_TEXTS = [
    b'"x"', b'""', b'"kb.search"', b'"error"', b'"limit"', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud83d\\ude00"',
    b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xf0\x9f\x98\x80"', b'"\\u0000"', b'"\x00"', b'"\\x"',
    b'"\n"', b'"\xe2\x80\xa8"', b'"', b"'x'", b'"' + b"a" * 5000 + b'"', b'"' + b"\xc3\xbc" * 9000 + b'"',
]  # fmt: skip
_NUMBERS = [
    b"0", b"1", b"-1", b"-0", b"1.0", b"1e5", b"1E+400", b"1e999", b"-1e999", b"1e-999", b"NaN", b"Infinity",
    b"01",
    b"-Infinity", b"+1", b".5", b"1.", b"0x1", b"1_0", b"9" * 308, b"9" * 309, b"9" * 4300, b"9" * 5000,
    b"10000001",
    b"0." + b"1" * 5000, b"1" + b"0" * 400 + b".0", b"true", b"false", b"null", b"nul",
]  # fmt: skip
_SPACE = [b"", b"", b"", b" ", b"\n", b"\t", b"\x0c", b"\xc2\xa0", b"\xef\xbb\xbf", b"/**/", b"\x00"]
_DEPTHS = [2, 60, 63, 64, 65, 66, 200, 990, 1_100, 20_000]
_DEPTH = 4


def value(choices: Choices, depth: int = 0) -> bytes:
    """Something like a JSON value."""
    if depth >= _DEPTH or choices.spent:
        return choices.one(_NUMBERS + _TEXTS)
    return choices.one([_scalar, _array, _object, _object, _deep, _wide, _twice])(choices, depth + 1)


def _scalar(choices: Choices, depth: int) -> bytes:
    return choices.one(_SPACE) + choices.one(_NUMBERS + _TEXTS) + choices.one(_SPACE)


def _array(choices: Choices, depth: int) -> bytes:
    return (
        b"[" + b",".join(value(choices, depth) for _ in range(choices.below(5))) + choices.one([b"]", b",]", b""])
    )


def _object(choices: Choices, depth: int) -> bytes:
    pairs = [_key(choices) + b":" + value(choices, depth) for _ in range(choices.below(5))]
    return b"{" + b",".join(pairs) + choices.one([b"}", b",}", b""])


def _key(choices: Choices) -> bytes:
    return b'"' + choices.one(_KEYS).encode() + b'"' + choices.one(_SPACE)


def _deep(choices: Choices, depth: int) -> bytes:
    times = choices.one(_DEPTHS)
    before, after = choices.one([(b"[", b"]"), (b'{"x":', b"}"), (b'[{"":', b"}]"), (b"[", b"")])
    return before * times + choices.one(_NUMBERS + _TEXTS) + after * times


def _wide(choices: Choices, depth: int) -> bytes:
    unit = choices.one([b"[]", b"{}", b"1", b'""', b"[[]]", b'{"":0}'])
    return b"[" + b",".join([unit] * choices.one([1, 10, 1_000, 20_000])) + b"]"


def _twice(choices: Choices, depth: int) -> bytes:
    return b'{"a":1,"\\u0061":2}' if choices.below(2) else b'{"a":1,"a":1}'


def body(choices: Choices) -> bytes:
    """A body: a frame of some kind around such values, mostly; now and then with bytes changed or cut."""
    made = choices.one(_FRAMES)(choices)
    if choices.chance(6) and made:
        at = choices.below(len(made))
        made = made[:at] + choices.rest()[:4] + made[at + choices.below(3) :]
    return made


def _call(choices: Choices) -> bytes:
    params = choices.one([b"{}", b'{"query":"x"}', _object(choices, 1)])
    each = choices.one(
        [b"", b"", b',"each":[{}]', b',"each":[' + b"{}," * 60 + b"{}]", b',"each":' + value(choices)]
    )
    return b'{"call":' + choices.one([b'"kb.search"', *_TEXTS]) + b',"params":' + params + each + b"}"


def _failure(choices: Choices) -> bytes:
    fields = [b'"type":' + choices.one(_TEXTS), b'"message":' + choices.one(_TEXTS)]
    if choices.below(2):
        fields.append(_key(choices) + b":" + choices.one(_NUMBERS + _TEXTS))
    status = choices.one([b'"error"', b'"limit"', b'"rejected"', b'"memory"', b'"ok"', *_TEXTS])
    return b'{"error":{' + b",".join(fields) + b'},"status":' + status + b"}"


_FRAMES = [
    lambda choices: b'{"result":' + value(choices) + b"}",
    lambda choices: b'{"out":' + choices.one(_TEXTS + _NUMBERS) + b"}",
    _call,
    _failure,
    lambda choices: b'{"done":' + choices.one([b"true", b"false", b"1", b"null"]) + b"}",
    value,
    lambda choices: choices.one(_SPACE) + b'{"result":' + value(choices) + b"}" + choices.one(_SPACE),
]
