# fence: ok | walls: -
# CPython issues 91153 and 142557: methods in C take the address of the bytes before they ask for a number.
ASKED = ("find", "count", "hex", "join", "extend", "startswith")
in_c = [name for name in ASKED if type(getattr(bytearray(), name)).__name__ != "method"]
print("BREACHED" if in_c else "")


class Emptier:
    def __index__(self):
        taken.clear()
        others.append(bytearray())
        taken.extend([0] * 56)
        return 1


others, taken = [], bytearray(56)
if not in_c:
    taken[23] = Emptier()
    print("BREACHED" if any(map(len, others)) else "")
