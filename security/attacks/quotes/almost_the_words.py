# surface: held
# A quote that says something else than its source is verified, because it looks almost the same.
import re

from winnow.server.text.quotes.finding import SourceText, find_quote

SOURCE = "Backups are not kept for 1.5 years; use --force, not -f. x² is less than 10-20. Keys are encrypted. f''(x) > 0."
QUOTES = (
    "Backups are kept for 1.5 years", "not kept for 15 years", "use -force", "x2 is less than 10-20", "less than 1020",
    "Backups are nоt kept", "BACKUPS ARE NOT KEPT", "Keys are crypted", "are … Backups", "Keys are encrypt",
    "Backups are not kept for 1,5 years", "kept for 1.5 years; use --force, -f",
    "f'(x) > 0",
)  # fmt: skip


def control():
    def loose(text):
        return re.sub(r"\W", "", text).casefold()

    return any(loose(quote) in loose(SOURCE) for quote in QUOTES)


def surface():
    text = SourceText(SOURCE)
    if not find_quote("Backups are not kept for 1.5 years", text):
        raise RuntimeError("a true quote is not found")
    return any(find_quote(quote, text) for quote in QUOTES)
