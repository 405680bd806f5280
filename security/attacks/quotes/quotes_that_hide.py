# surface: held
# A false quote of a text is written so that the audit of its citations does not see a quote there.
import re

from winnow.server.text.quotes.markdown_quotes import read_citations

WORDS = "kept for sixty long and dark days"
TEXTS = (
    f"He says:\n> {WORDS} [@a]", f"- > {WORDS} [@a]", f"1. One:\n   > {WORDS}\n   > [@a]", f"# Rule\n> {WORDS}",
    f"„{WORDS}” [@a]", f"”{WORDS}” [@a]", f"‘{WORDS}’ [@a]", f"'{WORDS}' [@a]", f"‹{WORDS}› [@a]", f"「{WORDS}」 [@a]",
    f'“{WORDS}" [@a]', f"“{WORDS} “so” they say” [@a]", f"&ldquo;{WORDS}&rdquo; [@a]", f"<q>{WORDS}</q> [@a]",
    rf"\"{WORDS}\" [@a]", f'A " sign and "{WORDS}" [@a]', f'"{WORDS} and {"more " * 1_000}" [@a]', f'"{WORDS} [@a]',
)  # fmt: skip


def control():
    return any(not re.search(r'(?:^> |"|“|«)kept[^"”»]*["”»]', text) for text in TEXTS)


def surface():
    for text in TEXTS:
        read = read_citations(text)
        seen = any(WORDS in quote.text for quote in read.quotes)
        if not seen and not any("quotation mark" in flaw.problem for flaw in read.malformed):
            return True
    return False
