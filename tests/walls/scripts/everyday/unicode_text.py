import unicodedata

words = ["Ångström", "naïve", "Straße", "ﬁle", "日本", "e\u0301"]
plain = lambda s: "".join(c for c in unicodedata.normalize("NFKD", s) if not unicodedata.combining(c))
print([plain(w) for w in words], [len(w) for w in words], sorted(words, key=plain), [w.casefold() for w in words], unicodedata.normalize("NFC", words[-1]) == "é", "日" in words[4], "Straße".upper(), "ǆ".title(), f"{'日本':>5}|", "😀".encode("utf-16-le").hex(), "\N{SNOWMAN}", [hex(ord(c)) for c in "é😀"])
ünïcode = "identifiers, too"
print(ünïcode)
