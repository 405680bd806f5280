r"""The texts that every match of a pattern has: an index finds the documents that have none of them.

The result is a sequence of clauses; a matching text holds at least one text of each clause. ASCII letters stand
for both of their cases. It is conservative: what it does not take for certain, it leaves out, and no clause means
that nothing is known. The idea is that of Google Code Search (https://swtch.com/~rsc/regexp/regexp4.html), without
its classes of characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from winnow.server.models import NeededTexts

Clause = tuple[str, ...]

LEAST_CHARS = 3  # of a text: the index has sequences of three characters
_MOST_ALTERNATIVES = 32  # of a clause
# Words of ASCII letters whose halves the index has, without those that may be written with ligatures.
_LONG_WORD = re.compile(r"(?<![^\W_])(?![A-Za-z]*(?:f[filt]|st))[A-Za-z]{6,15}(?![^\W_]|[\u0300-\u036f])")
# The syntax of RE2, in a pattern that it has taken. A "[" within a class is escaped, or begins one of POSIX.
_TOKEN = re.compile(
    r"""(?P<quote>\\Q)
    |\\(?P<mark>[^0-9A-Za-z_])                                             # an escaped punctuation mark
    |(?P<escape>\\(?:x\{[^}]*\}|x[0-9A-Fa-f]{2}|[pP](?:\{[^}]*\}|.)|[0-7]{1,3}|.))
    |(?P<class>\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\])
    |\(\?(?P<flags>[a-zA-Z]*(?:-[a-zA-Z]*)?)(?P<flags_end>[:)])
    |(?P<open>\((?:\?P?<[^>]*>)?)
    |(?P<close>\))
    |(?P<bar>\|)
    |(?P<times>[*?+]|\{(?P<least>[0-9]+)(?:,[0-9]*)?\})\??
    |(?P<other>[.^$])
    |(?P<character>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(slots=True)
class _Group:
    """A group that is being read. ``branches`` are the clauses of its alternatives so far.

    ``clauses`` are those of the current one, ``run`` its last literal characters, ``closed`` the clauses of a
    group that has just ended. Both may still turn out to be repeated zero times.
    """

    is_folded: bool
    branches: list[list[Clause]] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    closed: list[Clause] = field(default_factory=list)
    run: str = ""

    def add(self, character: str) -> None:
        """A character that stands for itself, or with ``is_folded`` for its other cases too."""
        self._take_closed()
        if character == "\0" or (self.is_folded and not character.isascii()):
            self.end_run()
        else:
            self.run += character

    def end_run(self) -> None:
        """Something else than a literal character begins."""
        self._take_closed()
        if len(self.run) >= LEAST_CHARS:
            self.clauses.append((self.run,))
        self.run = ""

    def repeat(self, least: int) -> None:
        """Repeat the last part, at least so often."""
        if least == 0:
            self.closed = []
            self.run = self.run[:-1]
        self.end_run()

    def end_branch(self) -> None:
        """An alternative ends."""
        self.end_run()
        self.branches.append(self.clauses)
        self.clauses = []

    def merge(self) -> list[Clause]:
        """The clauses of all alternatives: of several one, with the best text of each."""
        if len(self.branches) == 1:
            return self.branches[0]
        if not all(self.branches):
            return []
        texts = {text for clauses in self.branches for text in max(clauses, key=_strength)}
        return [tuple(sorted(texts))] if len(texts) <= _MOST_ALTERNATIVES else []

    def _take_closed(self) -> None:
        self.clauses += self.closed
        self.closed = []


def _strength(clause: Clause) -> tuple[int, int]:
    """The strength of a clause: the length of its shortest text, then how few it has."""
    return min(map(len, clause)), -len(clause)


def needed_of_text(text: str, *, case: bool) -> NeededTexts:
    """The clauses of a text that is looked for as it is."""
    group = _Group(not case)
    for character in text:
        group.add(character)
    group.end_run()
    return group.clauses


def needed_of_phrase(phrase: str) -> NeededTexts:
    """The clauses of a phrase that may have marks, hyphens and the ends of lines between and in its words.

    A word is divided in two at most, one half of which is whole.
    """
    words = _LONG_WORD.findall(phrase)
    return [tuple(sorted({word[: len(word) // 2], word[-(len(word) // 2) :]})) for word in words]


def needed_of_pattern(source: str, *, case: bool) -> NeededTexts:
    """The clauses of a pattern in RE2's syntax that RE2 has taken."""
    groups = [_Group(not case)]
    for token in _TOKEN.finditer(source):
        if token["quote"]:
            return ()
        _read_token(groups, token)
    groups[0].end_branch()
    return groups[0].merge()


def _read_token(groups: list[_Group], token: re.Match[str]) -> None:
    group = groups[-1]
    if token["times"]:
        group.repeat(int(token["least"] or (token["times"] == "+")))
    elif literal := token["mark"] or token["character"]:
        group.add(literal)
    elif token["flags_end"] == ")":
        group.end_run()
        group.is_folded = _is_folded(token["flags"], group)
    elif token["open"] or token["flags_end"]:
        group.end_run()
        groups.append(_Group(_is_folded(token["flags"] or "", group)))
    elif token["close"]:
        group.end_branch()
        groups.pop()
        groups[-1].closed = group.merge()
    elif token["bar"]:
        group.end_branch()
    else:  # a class, an escape, a dot or an anchor
        group.end_run()


def _is_folded(flags: str, group: _Group) -> bool:
    on, _, off = flags.partition("-")
    return ("i" in on or group.is_folded) and "i" not in off
