"""Words of negation, numbers, months and units, by language; the tables of ``server.claims.language.wording``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _numbered(text: str, first: int = 1) -> dict[str, int]:
    """Number the items of ``text``; those joined by "/" have one number."""
    return {word: number for number, item in enumerate(text.split(), first) for word in item.split("/")}


@dataclass(frozen=True, slots=True)
class LanguageTable:
    """The words of a language that change what a sentence states. All are casefolded.

    ``negations`` negate the words that follow. ``not_negating`` are words that cancel a negation directly before
    them ("not only"). ``small`` are words for numbers that may stand alone; a word of ``small`` may be added to
    one of ``tens`` and multiplied with one of ``scales``. ``months`` have their number. ``fillers`` are skipped
    between a negation and the word that it negates.
    """

    negations: frozenset[str]
    not_negating: frozenset[str]
    small: Mapping[str, int]
    tens: Mapping[str, int]
    scales: Mapping[str, int]
    months: Mapping[str, int]
    fillers: frozenset[str]


_ENGLISH = LanguageTable(
    negations=_words(
        "not no never none neither nor without cannot nothing nobody nowhere n't cant lacks lack lacking lacked "
        "fails fail failed failing unable absent absence hardly scarcely"
    ),
    not_negating=_words("only just merely simply solely least"),
    small=_numbered(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen",
        0,
    ),
    tens={
        word: 10 * number
        for word, number in _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 2).items()
    },
    scales={"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12},
    months=_numbered(
        "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sep/sept "
        "october/oct november/nov december/dec"
    ),
    fillers=_words(
        "a an the be been being is are was were to of in on at by for with from have has had do does did will "
        "would can could should may might must any all it its this that very more also yet so as and or"
    ),
)
_GERMAN = LanguageTable(
    negations=_words(
        "nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder noch nirgends kaum"
    ),
    not_negating=_words("nur bloß allein zuletzt"),
    small=_numbered(
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn",
        0,
    ),
    tens={
        word: 10 * number
        for word, number in _numbered("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", 2).items()
    },
    scales={
        "hundert": 100,
        "tausend": 1_000,
        "million": 10**6,
        "millionen": 10**6,
        "milliarde": 10**9,
        "milliarden": 10**9,
    },
    months=_numbered(
        "januar/jänner/jan februar/feb märz april/apr mai juni/jun juli/jul august/aug september/sep/sept "
        "oktober/okt november/nov dezember/dez"
    ),
    fillers=_words(
        "der die das den dem des ein eine einen einem einer ist sind war waren wird werden wurde wurden zu von in "
        "im an am auf bei für mit aus hat haben hatte kann können muss müssen soll sollen es sich auch mehr sehr "
        "so und oder als"
    ),
)
_FRENCH = LanguageTable(
    negations=_words("ne n' pas jamais aucun aucune rien sans ni guère"),
    not_negating=_words("seulement uniquement que"),
    small=_numbered(
        "zéro un/une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize", 0
    ),
    tens={word: 10 * number for word, number in _numbered("vingt trente quarante cinquante soixante", 2).items()},
    scales={
        "cent": 100,
        "cents": 100,
        "mille": 1_000,
        "million": 10**6,
        "millions": 10**6,
        "milliard": 10**9,
        "milliards": 10**9,
    },
    months=_numbered("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
    fillers=_words(
        "le la les l' un une des de du d' est sont était étaient être a ont avait à en dans sur par pour avec il "
        "elle se s' y très aussi et ou que"
    ),
)
_SPANISH = LanguageTable(
    negations=_words("no nunca jamás ningún ninguno ninguna nada nadie sin ni tampoco apenas"),
    not_negating=_words("solo sólo solamente únicamente"),
    small=_numbered(
        "cero un/uno/una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince", 0
    ),
    tens={
        word: 10 * number
        for word, number in _numbered(
            "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa", 2
        ).items()
    },
    scales={"cien": 100, "ciento": 100, "mil": 1_000, "millón": 10**6, "millones": 10**6},
    months=_numbered(
        "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre"
    ),
    fillers=_words(
        "el la los las un una de del es son era eran ser ha han había a en por para con se lo muy también y o que"
    ),
)
LANGUAGES: Mapping[str, LanguageTable] = {"en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH}
# Words for numbers that are mostly articles or pronouns: they may prove a number, but never need proof themselves.
DOUBTFUL_NUMBERS = _words("one un une uno una")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its dimension, its size in base units of that dimension, and its name in reports."""

    dimension: str
    factor: Decimal
    name: str = field(compare=False)


# Dimension: name of the unit, its size in base units, its spellings. Spellings with a "=" are compared with their
# case ("=MB", "=Mb"), the others without. Singular, plural and the languages above share a row.
_UNITS = """
share: % 1 % percent percentage pct prozent
time: ns 0.000000001 ns nanosecond nanoseconds
time: µs 0.000001 µs us microsecond microseconds mikrosekunden
time: ms 0.001 ms millisecond milliseconds millisekunde millisekunden millisecondes milisegundos
time: s 1 s sec secs second seconds sekunde sekunden seconde secondes segundo segundos
time: min 60 min mins minute minutes minuten minuto minutos
time: h 3600 h hr hrs hour hours stunde stunden heure heures hora horas
time: d 86400 day days tag tage tagen jour jours día días
time: wk 604800 week weeks woche wochen semaine semaines semana semanas
months: month 1 month months monat monate monaten mois mes meses
months: year 12 year years yr yrs jahr jahre jahren an ans année années año años
mass: ng 0.000000001 ng
mass: µg 0.000001 µg mcg microgram micrograms
mass: mg 0.001 mg milligram milligrams milligramm
mass: g 1 g gram grams gramm grammes gramos
mass: kg 1000 kg kilogram kilograms kilogramm kilo kilos
mass: t 1000000 t tonne tonnes tonnen
mass: lb 453.59237 lb lbs pound pounds
length: nm 0.000000001 nm nanometre nanometres nanometer nanometers
length: µm 0.000001 µm um micrometre micrometres micrometer micrometers micron microns
length: mm 0.001 mm millimetre millimetres millimeter millimeters
length: cm 0.01 cm centimetre centimetres centimeter centimeters zentimeter
length: m 1 m metre metres meter meters mètre mètres metros
length: km 1000 km kilometre kilometres kilometer kilometers kilomètres kilómetros
length: in 0.0254 inch inches
length: ft 0.3048 ft foot feet
length: mi 1609.344 mile miles
volume: µl 0.000001 µl ul microlitre microlitres microliter microliters
volume: ml 0.001 ml millilitre millilitres milliliter milliliters
volume: dl 0.1 dl
volume: l 1 l litre litres liter liters
data: B 8 =B byte bytes
data: kB 8000 =kB =KB kilobyte kilobytes
data: MB 8000000 =MB megabyte megabytes
data: GB 8000000000 =GB gigabyte gigabytes
data: TB 8000000000000 =TB terabyte terabytes
data: KiB 8192 =KiB =Ki kibibyte kibibytes
data: MiB 8388608 =MiB =Mi mebibyte mebibytes
data: GiB 8589934592 =GiB =Gi gibibyte gibibytes
data: TiB 8796093022208 =TiB =Ti tebibyte tebibytes
data: bit 1 bit bits
frequency: Hz 1 hz hertz
frequency: kHz 1000 khz
frequency: MHz 1000000 mhz
frequency: GHz 1000000000 ghz
celsius: °C 1 °c celsius
fahrenheit: °F 1 °f fahrenheit
kelvin: K 1 =K kelvin
power: W 1 =W watt watts
power: kW 1000 =kW kilowatt kilowatts
power: MW 1000000 =MW megawatt megawatts
potential: V 1 =V volt volts
potential: mV 0.001 =mV millivolt millivolts
concentration: M 1 =M molar
concentration: mM 0.001 =mM millimolar
concentration: µM 0.000001 =µM =uM micromolar
concentration: nM 0.000000001 =nM nanomolar
dollars: $ 1 $ usd dollar dollars
euros: € 1 € eur euro euros
sterling: £ 1 £ gbp sterling
yen: ¥ 1 ¥ jpy yen
"""


def _read_units() -> tuple[dict[str, Unit], dict[str, Unit]]:
    """The units by spelling: those whose case matters, and those whose case does not."""
    cased: dict[str, Unit] = {}
    caseless: dict[str, Unit] = {}
    for line in _UNITS.strip().splitlines():
        dimension, _, rest = line.partition(":")
        name, factor, *spellings = rest.split()
        unit = Unit(dimension, Decimal(factor), name)
        for spelling in spellings:
            if len(spelling) > 1 and spelling.startswith("="):
                cased[spelling[1:]] = unit
            else:
                caseless[spelling.casefold()] = unit
    return cased, caseless


_CASED, _CASELESS = _read_units()


def find_unit(spelling: str) -> Unit | None:
    """The unit of this spelling; None if there is none.

    >>> find_unit("Hours").name, find_unit("mM").name, find_unit("apples")
    ('h', 'mM', None)
    """
    return _CASED.get(spelling) or _CASELESS.get(spelling.casefold())
