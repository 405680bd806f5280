# fence: ok | walls: -
# The text of an error of decoding takes any object in place of its bytes for bytes, and shows what it keeps in memory.
error = UnicodeDecodeError("ascii", b"a", 0, 1, "no reason")
error.object = (None,) * 9
error.start, error.end = 4, 5
print("BREACHED" if " byte 0x" in str(error) else "")
