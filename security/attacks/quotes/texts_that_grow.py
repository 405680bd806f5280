# surface: held
# A text of brackets, fences, blanks or other signs takes time with the square of its length, or a quote of many parts for ever.
import re
import time

from winnow.server.text.quotes.finding import SourceText, find_quote
from winnow.server.text.quotes.markdown_quotes import read_citations

MOST_SECONDS = 20  # the slowest takes less than one
CHARS = 20_000
RUNS = (" ", "~", "|", "-", "[", "<!--", "*a ", "> ", "[a][b]", "<a =", "•", ". ")
LONGEST_RUN = 150_000
MARKS = ("“a ", "“a “b” ", "« a » ", " 'a'a", "‘a’a ", '" a b c d e ', ' "a', "&quot;a ", "<q>a ", '\\"a ', "- > a\n>\n", "”a ", "1. ")


def control():
    began = time.process_time()
    re.search(r"(?:[^\n]*\S[^\n]*)+$", " " * 6_000)
    return time.process_time() - began > 0.05


def surface():
    began = time.process_time()
    for piece in ("[@", '"', "“", "`", "` ", "> ", "\n", " ", "@{", "[", "\\", "```\n", "@a ", '"a" [@b, p. 1] ', *MARKS):
        read_citations(piece * (CHARS // len(piece)))
    for run in RUNS:
        find_quote("so it is", SourceText(f"Some words\n{run * (LONGEST_RUN // len(run))}x end"))
        read_citations(f"> a{run * (3 * CHARS // len(run))}b")
    read_citations("[@a] " * (3 * CHARS // 5) + '"it is so"\n' * 300)
    for piece in ("*" * 200 + "x" + "_" * 250, "<a =>" * 40 + "x" + "_" * 250, "<a>_" * 100):
        find_quote("_", SourceText(piece * (3 * CHARS // len(piece))))
    find_quote("a … " * 900 + "zzz", SourceText("a " * 150_000))
    return time.process_time() - began > MOST_SECONDS
