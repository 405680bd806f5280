import difflib
import unicodedata

print(difflib.get_close_matches("appel", ["ape", "apple", "peach"]), difflib.SequenceMatcher(None, "abcd", "bcde").ratio(), round(difflib.SequenceMatcher(a="kitten", b="sitting").quick_ratio(), 3))
print("\n".join(difflib.unified_diff(["a", "b", "c"], ["a", "x", "c"], "before", "after", lineterm="")), list(difflib.ndiff(["one"], ["ore"])), difflib.SequenceMatcher(None, "ab", "ba").get_opcodes(), difflib.SequenceMatcher(None, "abc", "xbc").find_longest_match(), sep="\n")
print(unicodedata.normalize("NFKD", "Café ﬁ").encode("ascii", "ignore").decode(), unicodedata.category("A"), unicodedata.name("é"), unicodedata.lookup("BULLET"), unicodedata.numeric("½"), unicodedata.combining("\u0301"), unicodedata.east_asian_width("漢"), "".join(c for c in unicodedata.normalize("NFD", "éà") if unicodedata.category(c) != "Mn"))
