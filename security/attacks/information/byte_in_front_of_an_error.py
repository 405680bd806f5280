# fence: ok | walls: -
# CPython issue 123378: the text of an error of decoding shows the byte at its first position, wherever that is.
shown = str(UnicodeDecodeError("ascii", b"ab", -9, -8, "no reason"))
in_c = type(UnicodeDecodeError.__str__).__name__ != "function"
print("BREACHED" if in_c or " byte 0x" in shown else "")
