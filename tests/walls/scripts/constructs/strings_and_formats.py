name, value, width = "Zoë", 1234.5678, 12
items = {"k": [1, 2]}


class P:
    x = 3

    def __format__(self, spec):
        return f"P<{spec}>"


print(f"{name:>{width}}|{name:^{width}}|{name:*<{width}}|{value:,.2f}|{value:>+{width}.{2}e}|{value!r:>12}")
print(f"{items['k'][1]} {P.x} {P():a{'b'}c} {name=} {value=:.1f} {len(name)=} {{literal}} {'nested ' + f'{1 + 1}'}")
print(f"{255:#06x} {255:b} {255:o} {0.256:.1%} {1e10:g} {-5:05d} {True:d} {'s':s} {3:>3}{4:<3}| {1_000_000:_}")
print(f"{None} {[1, 'a']!s} {b'x'!r} {'é'!a} {3 if name else 4} {(lambda x: x * 2)(4)}")
print(f"""multi
{name}
line""")
print("{0} {1} {0} {name:>5} {d[k][0]} {p.x}".format("a", "b", name="n", d=items, p=P))
print("{} {!r:>6} {:{w}.{p}f}".format("a", "b", 3.14159, w=8, p=2), "{{}}".format())
print("%s is %d years, %.2f%% %5s|%-5s| %x %r %c" % (name, 30, 99.5, "r", "l", 255, "q", "z"), "%(a)s-%(b)03d" % {"a": 1, "b": 2})
print("a-b_c d".replace("-", " ").title(), "x,y,,z".split(","), " a  b ".split(), "a=b=c".partition("="), "a.b.c".rsplit(".", 1))
print("abc"[::-1], "hello"[1:-1], "abc" * 2, "b" in "abc", "abc".find("z"), "Hello World".swapcase(), "abc".center(9, "*"))
print("line1\nline2\r\nline3".splitlines(), "tEsT".capitalize(), "ß".upper(), "ABC".isupper(), "12".isdigit(), "a1".isalnum(), "x".ljust(3) + "|")
print("prefix-body".removeprefix("prefix-"), "body.md".removesuffix(".md"), "a".join(["1", "2"]), "zfill".zfill(8), "tab\there".expandtabs(4))
print("äöü".encode("utf-8"), b"\xc3\xa4".decode(), "äö".encode("latin-1"), "x".encode().hex(), bytes.fromhex("6162"), ascii("ü"))
print("abcabc".count("bc"), "abc".startswith(("x", "a")), "abc".translate(str.maketrans({"a": "1", "b": None})), "a\\n", r"raw\n", "\u00e9\x41\N{BULLET}")
print(str(b"ab", "ascii"), "%5.1f|%-8s|%+d" % (2.25, "ab", 3), "a" "b", "é".casefold() == "É".casefold(), sorted("bAc", key=str.lower))
print(repr("it's"), repr('say "hi"'), repr("both ' \""), "\t|".expandtabs(2), "x".isidentifier(), "abc".index("c"), max("hello"), "".join(reversed("abc")))
for bad in ("{", "{0", "{x}", "{0.nope}", "{0[9]}", "{:d}"):
    try:
        print(bad.format("s"))
    except Exception as error:
        print(type(error).__name__, error)
