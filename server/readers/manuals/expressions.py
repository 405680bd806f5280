"""Numbers and conditions of roff."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.manuals.escapes import printed_text

# A line has one unit of the terminal per 24th of a character, as in groff.
_UNITS = {
    "i": 240,
    "c": 94,
    "P": 40,
    "p": 3,
    "m": 24,
    "n": 24,
    "v": 40,
    "u": 1,
    "s": 1,
    "z": 1,
    "f": 1,
    "M": 1,
    "": 1,
}
_TOKEN = re.compile(
    r"(?P<number>\d{1,9}(?:\.\d{0,6})?|\.\d{1,6})(?P<unit>[icPpmnvuszfM]?)|(?P<sign><=|>=|==|<\?|>\?|[-+*/%<>=&:()!])"
)
_NUMERIC = re.compile(
    r"(?:\d{1,9}(?:\.\d*)?[icPpmnvuszfM]?|\.\d+[icPpmnvuszfM]?|<=|>=|==|<\?|>\?|[-+*/%<>=&:()])+"
)
_MOST_TOKENS = 500
_LARGEST = 2**31 - 1


def evaluate(text: str) -> int:
    """The value of an expression, in which all operators have the same precedence; 0 for any other text."""
    tokens = [*_tokens(text)]
    value, _ = _sum(tokens, 0, 0)
    return value


def _tokens(text: str) -> Iterator[int | str]:
    at = 0
    while (found := _TOKEN.match(text, at)) and at < len(text):
        yield int(float(found["number"]) * _UNITS[found["unit"]]) if found["number"] else found["sign"]
        at = found.end()


def _sum(tokens: list[int | str], at: int, depth: int) -> tuple[int, int]:
    value, at = _term(tokens, at, depth)
    while at < len(tokens) and tokens[at] not in (")", "("):
        sign = tokens[at]
        if isinstance(sign, int):
            break
        right, at = _term(tokens, at + 1, depth)
        value = _apply(sign, value, right)
    return value, at


def _term(tokens: list[int | str], at: int, depth: int) -> tuple[int, int]:
    if len(tokens) > _MOST_TOKENS or depth > _MOST_TOKENS // 10:
        raise UnreadableFile("a number in it is computed in too many steps; simplify it")
    if at >= len(tokens):
        return 0, at
    token = tokens[at]
    if isinstance(token, int):
        return token, at + 1
    if token == "(":
        value, at = _sum(tokens, at + 1, depth + 1)
        return value, at + (at < len(tokens) and tokens[at] == ")")
    if token in ("-", "+", "!"):
        value, at = _term(tokens, at + 1, depth + 1)
        return (-value if token == "-" else value if token == "+" else int(value <= 0)), at
    return 0, at + 1


def _apply(sign: str, left: int, right: int) -> int:
    match sign:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case "/":
            value = int(left / right) if right else 0
        case "%":
            value = left % right if right else 0
        case "<":
            value = left < right
        case ">":
            value = left > right
        case "<=":
            value = left <= right
        case ">=":
            value = left >= right
        case "=" | "==":
            value = left == right
        case "&":
            value = left > 0 and right > 0
        case ":":
            value = left > 0 or right > 0
        case "<?":
            value = min(left, right)
        case _:
            value = max(left, right)
    return max(-_LARGEST, min(int(value), _LARGEST))


def holds(text: str, registers: Mapping[str, int], known: Collection[str]) -> tuple[bool, str]:
    """Whether the condition at the beginning of a text is true, and the text after the condition.

    Pages are printed on a terminal: "n" holds, "t" does not. ``known`` are the names of macros, strings and
    requests.
    """
    if text.startswith("!"):
        is_true, rest = holds_once(text[1:].lstrip(" "), registers, known)
        return not is_true, rest
    return holds_once(text, registers, known)


def holds_once(text: str, registers: Mapping[str, int], known: Collection[str]) -> tuple[bool, str]:
    """Like ``holds``, for a condition without a "!" before it."""
    letter = text[:1]
    if found := _NUMERIC.match(text):
        return evaluate(found[0]) > 0, text[found.end() :]
    if letter in "ntoevFSm" and letter:
        rest = text[1:]
        return letter in "no", rest.lstrip() if letter in "ntoev" else re.sub(r"\A\s*\S+", "", rest)
    if letter in "dr" and letter:
        found = re.match(r"\s*(\S+)", text[1:])
        name, rest = (found[1], text[1 + found.end() :]) if found else ("", "")
        return name in (known if letter == "d" else registers), rest
    if letter == "c":
        found = re.match(r"\s*(?:\\\(..|\\\[[^\]]*\]|\\.|.)", text[1:])
        return True, text[1 + found.end() :] if found else ""
    if letter and not letter.isalnum() and letter != "\\":
        parts = text.split(letter, 3)
        if len(parts) == 4:
            return printed_text(parts[1]) == printed_text(parts[2]), parts[3]
    return False, text
