"""The kind of thing that a question asks for, by the words it asks with. Pure, by rules in two tables.

A row of ``_RULES`` is a kind and the phrases that ask for it, in English, German, French and Spanish. The phrase
that stands first in the question decides; of rows with a phrase there, the first. A question without any asks
for no kind in particular: ``other``. A row of ``_FORMS`` is the form that a value should have: "how long" asks
for a number with a unit of time or length, "which file" for a path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

AskedKind = Literal[
    "number", "date", "version", "port", "name", "command", "yes_no", "definition", "list", "reason", "other"
]

ValueForm = Literal["any", "time", "length", "size", "share", "counted", "path", "flag", "variable", "shell"]


@dataclass(frozen=True, slots=True)
class AskedFor:
    """The thing that a question asks for: a kind, the form of its value, and, of what is counted, its name."""

    kind: AskedKind
    form: ValueForm = "any"
    counted: str = ""


# The words that ask stand near the beginning or the end; no more than this is read of either.
_READ_CHARS = 500
# "On which TCP port", "what is the name": what is asked for is at most four words behind the word that asks.
_WHICH = r"\b(?:which|what|whose|welche[rnms]?|quel(?:le)?s?|qué|cuál(?:es)?)"
_BETWEEN = r"(?:[ -](?!(?:an?|do|does|did)\b)[\w'-]{1,30}){0,%d}[ -]"
_POLITE = re.compile(
    r"^(?:(?:can|could|would|will|do) (?:you|we|anyone)|please|kannst du|können sie|"
    r"pouvez-vous) .{0,40}?(?=\b(?:wh|how\b|if\b|w[aeio]|qu|cu|có))"
)


def _which(nouns: str, *, between: int = 3) -> str:
    return rf"{_WHICH}{_BETWEEN % between}(?:{nouns})\b"


_QUANTITIES = (
    "maximum|minimum|max|min|limit|number|amount|size|length|width|height|depth|distance|"
    "speed|rate|interval|period|"
    "timeout|duration|delay|percentage|proportion|fraction|share|threshold|count|quota|price|"
    "cost|fee|age|weight|"
    "temperature|population|capacity|frequency|latency|lifetime|grace period|"
    "anzahl|zahl|größe|dauer|länge|höchstzahl|grenze|nombre|taille|durée|limite|longueur|número|tamaño|duración|"
    "límite|longitud"
)
_CODE_NOUNS = (
    "commands?|options?|flags?|switch(?:es)?|parameters?|arguments?|settings?|variables?|files?|paths?|"
    "director(?:y|ies)|folders?|fields?|keys?|functions?|methods?|modules?|class(?:es)?|annotations?|labels?|"
    "exceptions?|errors?|signals?|system calls?|keywords?|attributes?|subcommands?|directives?|macros?|"
    "befehle?|schalter|datei(?:en)?|pfad|verzeichnis|ordner|einstellung|commande|fichier|chemin|dossier|réglage|"
    "comando|opción|archivo|fichero|ruta|carpeta|directorio|ajuste"
)
_NAMED_NOUNS = (
    "names?|tools?|compan(?:y|ies)|persons?|people|authors?|universit(?:y|ies)|"
    "organi[sz]ations?|countr(?:y|ies)|"
    "cit(?:y|ies)|teams?|products?|librar(?:y|ies)|programs?|vendors?|projects?|bands?|films?|movies?|actors?|"
    "actress(?:es)?|directors?|nationality|auditors?|clouds?|protocols?|algorithms?|formats?|"
    "namen?|werkzeuge?|firmen?|person(?:en)?|programme?|nom|outil|entreprise|personne|programme|nombre|"
    "herramienta|empresa|persona|programa"
)
_VERBS = (
    "is|are|was|were|does|do|did|can|could|may|must|should|shall|will|would|has|have|had|isn't|aren't|doesn't|"
    "don't|can't|ist|sind|war|waren|kann|können|darf|dürfen|muss|müssen|soll|wird|werden|hat|haben|gibt es|"
    "est-ce que|est-il|peut-on|y a-t-il|faut-il|es|son|puede|pueden|hay|se puede|debe|tiene"
)

# The order is meaningful where phrases begin at the same word: "what is the maximum number of ports" asks for a
# number, "which port" for a port.
_RULES: tuple[tuple[AskedKind, str], ...] = (
    ("yes_no", rf"^(?:and |or |but |und |et |¿)*(?:{_VERBS})\b"),
    ("other", r"\b(?:what (?:happens|goes|becomes)|was passiert|que se passe|qué pasa)\b"),
    (
        "reason",
        r"\b(?:why|how come|for what reason|what is the reason|what are the reasons|warum|weshalb|"
        r"wieso|aus welchem grund|pourquoi|por qué)\b",
    ),
    (
        "definition",
        r"\b(?:what (?:do|does) .{1,80} (?:mean|stand for)|meaning of|definition of|define|"
        r"was (?:bedeutet|heißt)|was versteht man|que signifie|qu'est-ce qu'une?|qué (?:significa|"
        r"es una?))\b",
    ),
    (
        "number",
        r"\b(?:how (?:many|much|often|long|large|big|old|fast|far|deep|high|tall|wide|small|heavy|"
        r"frequently)|at (?:most|least) how|wie ?(?:viele?|oft|lange?|groß|alt|hoch|weit|schnell)|"
        r"combien|cuánt[oa]s?)\b",
    ),
    ("number", rf"\b(?:which|what)(?: (?:is|are|was|were))?{_BETWEEN % 3}(?:maximum|minimum|number) "),
    ("port", _which("(?:[\\w]{1,10}-)?ports?|puertos?")),
    (
        "date",
        _which(
            "dates?|years?|months?|centur(?:y|ies)|decades?|datum|jahre?|monat|année|mois|fecha|año|mes", between=1
        ),
    ),
    ("version", _which("versions?|releases?|versión(?:es)?|ausgaben?")),
    (
        "date",
        r"\b(?:when (?:was|were|did|will|has|had)|when (?:do|does|is|are) .{1,80}\b(?:end|ends|"
        r"expire|start|begin|due|scheduled|planned|released|published|held)|since when|until when|"
        r"wann (?:wurden?|waren?|wird|erschien|endet|begann|hat|haben|ist|sind)|seit wann|"
        r"bis wann|quand (?:a|ont|fut|était|sera|est)|depuis quand|cuándo (?:fue|fueron|se|será|"
        r"salió|termina|empezó)|desde cuándo)\b",
    ),
    ("number", rf"{_WHICH}(?: (?:is|are|was|were|ist|war|est|es))?{_BETWEEN % 3}(?:{_QUANTITIES})\b"),
    (
        "list",
        r"^(?:list|name|enumerate|nenne|liste|énumère|enumera)\b|"
        + _which(
            "steps|parts|roles|kinds|types|ways|stages|phases|components|reasons|conditions|"
            "requirements|styles|schritte|arten|teile|étapes|sortes|pasos|tipos|partes",
            between=4,
        ),
    ),
    ("command", _which(_CODE_NOUNS)),
    (
        "command",
        r"\b(?:where (?:is|are|does|do|can) .{1,80}\b(?:stored|kept|saved|written|installed|"
        r"logged|configured|set|defined|files?|logs?)|wo (?:wird|werden|liegt|liegen|steht)|"
        r"dónde se (?:guarda|guardan|encuentra))\b",
    ),
    (
        "name",
        r"(?:^|[,;:] ?|\b(?:by|to|from|of|and) )(?:who|whom|whose|wer|wem|wessen|qui|"
        r"quién(?:es)?)\b|\b(?:called what|what (?:is|are|was|were) .{1,80} called|wie heißt|"
        r"wie heißen|comment s'appelle|cómo se llama)\b",
    ),
    ("name", _which(_NAMED_NOUNS)),
    ("list", r"^(?:what are the|which are the|was sind die|quel(?:le)?s sont|cuáles son)\b"),
    ("definition", r"^(?:so )?what(?:'s| is) an? |^was ist ein |^qu'est-ce qu|^qué es un"),
    (
        "definition",
        r"^(?:so )?what(?:'s| is| are) (?:an? |the )?(?:[\w.'-]{1,40} ?){1,3}\??$|^was (?:ist|"
        r"sind) (?:eine? |die |der |das )?(?:[\w.'-]{1,40} ?){1,3}\??$",
    ),
    # A "who" behind such a beginning opens a relative clause: "what was the profession of Amy, whose life".
    ("other", rf"^{_WHICH}\b"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _RULES)
_COUNTED = re.compile(
    r"\b(?:how many|number of|wie ?viele|combien d[e']|nombre d[e']|cuánt[oa]s|"
    r"número de) ?(?P<noun>[\w-]{1,40})(?: (?P<next>[\w-]{1,40}))?"
)
_ADJECTIVE_ENDS = ("ed", "ing", "al", "ive", "ous", "ent", "ful", "less", "able", "est")
# The first row of the kind with a phrase in the question decides.
_FORMS: tuple[tuple[AskedKind, ValueForm, str], ...] = (
    (
        "number",
        "share",
        r"\b(?:percent|percentage|proportion|fraction|share|prozent|anteil|pourcentage|porcentaje)\b",
    ),
    (
        "number",
        "time",
        r"\b(?:how (?:often|soon|old|frequently)|how (?:many|much) (?:seconds?|minutes?|hours?|"
        r"days?|weeks?|months?|years?|time|milliseconds)|(?:interval|period|timeout|duration|"
        r"delay|latency|age|lifetime)\b|wie (?:oft|alt)|dauer|durée|duración)",
    ),
    ("number", "length", r"\bhow (?:long|far|deep|high|wide|tall)\b|\bwie lange?\b"),
    (
        "number",
        "size",
        r"\b(?:how (?:large|big)|how (?:many|much) (?:bytes|memory|space|storage|disk|data|"
        r"\w+bytes)|wie groß|(?:amount of|size of|maximum size|memory)\b)",
    ),
    (
        "command",
        "variable",
        r"\benvironment variables?\b|\bumgebungsvariable|\bvariable d'environnement|\bvariable de entorno",
    ),
    (
        "command",
        "path",
        r"\b(?:files?|paths?|director(?:y|ies)|folders?|where|datei|pfad|verzeichnis|ordner|"
        r"fichier|chemin|dossier|archivo|ruta|carpeta)\b",
    ),
    ("command", "flag", r"\b(?:options?|flags?|switch(?:es)?|schalter|opción)\b"),
    ("command", "shell", r"\b(?:sub)?(?:commands?|befehle?|commande|comando)\b"),
)
_COMPILED_FORMS = tuple((kind, form, re.compile(pattern)) for kind, form, pattern in _FORMS)
# The words that name a kind itself. They are no subject: a port of something else says nothing of this one.
_KIND_NOUNS: Mapping[AskedKind, re.Pattern[str]] = MappingProxyType(
    {
        "port": re.compile(r"ports?|puertos?|tcp|udp"),
        "version": re.compile(r"versions?|releases?|versión|ausgabe"),
        "date": re.compile(r"dates?|years?|months?|days?|century|decade|datum|jahr|année|año|fecha"),
        "number": re.compile(r"numbers?|amount|maximum|minimum|limit|max|long|large|often|anzahl|nombre|número"),
        "command": re.compile(
            r"(?:sub)?commands?|options?|flags?|switch|files?|paths?|director(?:y|ies)|folders?|variables?|"
            r"environment|settings?|parameters?|arguments?|fields?|annotations?|befehl|datei|fichier|archivo"
        ),
        "name": re.compile(r"names?|called|tools?|compan(?:y|ies)|persons?|people"),
    }
)
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+")


def find_asked(question: str) -> AskedFor:
    """The thing that a question asks for.

    >>> find_asked("How many retries are there?")
    AskedFor(kind='number', form='counted', counted='retries')
    >>> [find_asked(text).kind for text in ("Which port does it use?", "Why is it so?", "Tell me about it")]
    ['port', 'reason', 'other']
    """
    text = question if len(question) <= 2 * _READ_CHARS else f"{question[:_READ_CHARS]}. {question[-_READ_CHARS:]}"
    sentences = [" ".join(part.split()).casefold().strip("¿¡\"'“”«» ") for part in _SENTENCE_END.split(text)]
    for sentence in reversed([part for part in sentences if part]):
        asked = _POLITE.sub("", sentence.replace("’", "'"))
        found = [(kind, match) for kind, pattern in _COMPILED if (match := pattern.search(asked))]
        if found:
            kind, match = min(found, key=lambda row: row[1].start())
            return _describe(kind, asked, match[0])
    return AskedFor("other")


def names_kind(word: str, kind: AskedKind) -> bool:
    """Whether a word of a question names the kind that is asked for, as "port" does in "which port".

    >>> names_kind("Ports", "port"), names_kind("gateway", "port")
    (True, False)
    """
    pattern = _KIND_NOUNS.get(kind)
    return pattern is not None and pattern.fullmatch(word.casefold()) is not None


def _describe(kind: AskedKind, asked: str, phrase: str) -> AskedFor:
    """The kind with its form: of a number by the whole sentence, of anything else by the phrase that asks."""
    read = asked if kind == "number" else phrase
    form: ValueForm = next(
        (form for of, form, pattern in _COMPILED_FORMS if of == kind and pattern.search(read)), "any"
    )
    if kind == "number" and form == "any" and (counted := _COUNTED.search(asked)):
        noun, following = counted["noun"], counted["next"]
        if following and noun.endswith(_ADJECTIVE_ENDS):
            noun = following
        return AskedFor(kind, "counted", noun)
    return AskedFor(kind, form)
