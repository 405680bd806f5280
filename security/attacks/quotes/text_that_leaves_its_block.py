# surface: held
# Text of documents becomes a heading, a link, HTML, code or a table of a report that is rendered from it.
from markdown_it import MarkdownIt

from winnow.server.text.markup.markdown_escaping import escape_line

TEXTS = (
    "# heading", "> quotation", "---\ntitle: x\n---", "- item", "1. item", "(a) item", "```\ncode\n```", "    code",
    "[free](http://evil.example)", "![](http://evil.example/p.png)", "<img src=x onerror=alert(1)>", "<http://evil.example>",
    "[x]: http://evil.example\n[x]", "| a |\n|---|\n| b |", "a\n===", "*a* __b__ `c` ~~d~~", "</details><script>x</script>",
    "a\\", "&lt;script&gt;", "a \u202e b\x1b[2J",
)  # fmt: skip
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def kinds(markdown):
    tokens = READER.parse(markdown)
    return {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}


def control():
    return any("link_open" in kinds(f"> {text}") for text in TEXTS)


def surface():
    blocks = {"paragraph_open", "paragraph_close", "blockquote_open", "blockquote_close", "inline", "text", "text_special"}
    return any(kinds(f"{before}{escape_line(text)}") - blocks for text in TEXTS for before in ("", "> "))
