import re

text = "Order #123: 4 x apples @ $1.50 (see a.b@c.org, d@e.net) on 2026-01-31 and 2025-12-24."
print(re.findall(r"\d{4}-\d\d-\d\d", text), re.findall(r"(\w[\w.]*)@(\w+\.\w+)", text), re.search(r"#(?P<id>\d+)", text).group("id"))
print(re.sub(r"\$(\d+\.\d+)", lambda m: f"€{float(m[1]) * 2:.2f}", text)[:40], re.sub(r"(\d+)-(\d+)-(\d+)", r"\3.\2.\1", text)[-31:], re.subn("a", "A", "banana", count=2))
print(re.split(r"[,;\s]+", "a, b;c  d"), re.split(r"(-)", "a-b-c", maxsplit=1), re.match(r"\d", "a1"), re.fullmatch(r"\w+", "word").span(), re.escape("a.b*c"))
pattern = re.compile(r"""
    (?P<year>\d{4})   # year
    -(?P<month>\d\d)
""", re.VERBOSE | re.IGNORECASE)
for m in pattern.finditer(text):
    print(m.group(), m.groupdict(), m.start(), m.end("month"), m.groups(), m["year"], m.lastgroup, m.expand(r"\g<month>/\1"))
print(pattern.flags & re.X != 0, pattern.groups, pattern.groupindex["year"], bool(re.search("^b", "a\nb", re.M)), re.findall("a.b", "a\nb", flags=re.DOTALL), re.findall(r"(?<=\$)\d+", text), re.findall(r"\b\w{6,}\b", text))
print(re.search(r"(a)(b)?", "ac").groups("none"), re.sub(r"\s+", " ", " a \n b ").strip(), [m.start() for m in re.finditer("an", "banana")], re.findall("é+", "caféé"), re.compile("x") == re.compile("x"), re.I | re.M)
for bad in ("(", "[", "*", "a{2,1}", "(?P<1>a)", r"\g"):
    try:
        re.compile(bad)
    except re.error as error:
        print(error, error.pos)
try:
    re.sub("(a)", r"\2", "a")
except re.error as error:
    print(error)
print(repr(re.match("a", "abc")), repr(re.compile("a", re.I)))
