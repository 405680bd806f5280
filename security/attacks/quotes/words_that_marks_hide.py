# surface: held
# A quote is verified with words that no document says, since its own marks hide them when it is compared; or by words
# that no reader of the document sees, since they stand in a comment.
import re

from winnow.server.text.quotes.finding import SourceText, find_quote

SAID = "The drug is safe for children"
QUOTES = (
    f"~~~ It is proven that nobody died:\n{SAID}", f"```never\n{SAID}", f"{SAID}\n~~~ and for everybody else",
    "The drug is ~~not at all~~ safe for children", "The drug is safe <!-- and cheap --> for children",
)  # fmt: skip
UNSEEN = (f"Seen.\n<!-- {'pad ' * 600}{SAID} --> End.", f"Seen.\n<!-- {SAID} --> End.")


def control():
    def loose(text):
        return re.sub(r"(?m)<!--.*?-->|~~.*?~~|^(?:~~~|```).*$|\s", "", text)

    return all(loose(SAID) in loose(quote) for quote in QUOTES) and SAID in UNSEEN[0]


def surface():
    text = SourceText(f"{SAID}. It is ~~hardly~~ new.")
    if not find_quote(SAID, text):
        raise RuntimeError("a true quote is not found")
    hidden = (SAID, f"Seen … {SAID}", f"{SAID} … End", f"Seen … {SAID} … End")
    return any(find_quote(quote, text) for quote in QUOTES) or any(
        find_quote(quote, SourceText(each)) for quote in hidden for each in UNSEEN
    )
