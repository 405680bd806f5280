# surface: held
# A part of a number is quoted as a whole one: its decimal sign, blank, comparison or exponent is written otherwise.
from winnow.server.text.quotes.finding import SourceText, find_quote

# What is quoted, and what the text says.
CUT = {
    "5 mg is safe": ("1·5 mg is safe", "≠ 5 mg is safe", "&lt; 5 mg is safe", r"1\.5 mg is safe", "1 ± 5 mg is safe", "1{,}5 mg is safe", "≶ 5 mg is safe", "⁻5 mg is safe"),
    "it is 1": ("it is 1\u2009000", "it is 1’000", "it is 1<b>.5</b>", "it is 1&#37;", "it is 1 × 10⁶", "it is 1 1/2", "it is 1±3", "it is 1％", "it is 1-\n10", r"it is 1 \times 10^6"),
    "52 m": ("5<sub>2</sub> m", "x<sub>5</sub>2 m"),
    "10-6 m": ("10<sup>-6</sup> m",),
    "on 2024-03": ("on 2024\u201103\u201112",),
}  # fmt: skip


def control():
    return any(quote in text for quote, texts in CUT.items() for text in texts)


def surface():
    if not find_quote("5 mg is safe", SourceText("Here 5 mg is safe.")):
        raise RuntimeError("a true quote is not found")
    return any(find_quote(quote, SourceText(text)) for quote, texts in CUT.items() for text in texts)
