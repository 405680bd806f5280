import io
import pprint
import sys
import textwrap

buffer = io.StringIO()
print("to buffer", 1, file=buffer, sep="|", flush=True)
print("x", end="", file=buffer)
print(repr(buffer.getvalue()))
print("a", None, sep="\n", end="\n--\n")
pprint.pprint({"z": [1, 2], "a": {"k": "v" * 60, "l": list(range(30))}}, width=60)
pprint.pp({"b": 1, "a": 2})
print(pprint.pformat([{"id": n, "text": "t" * 20} for n in range(3)], indent=2, width=50))
print(textwrap.dedent("""
    indented
      more
""").strip())
sys.stdout.write("direct\n")
print("to stdout", file=sys.stdout)
class Stringy:
    def __str__(self):
        return "str!"
    def __repr__(self):
        return "repr!"
print(Stringy(), [Stringy()], {"k": Stringy()}, f"{Stringy()} {Stringy()!r}")
try:
    print("x", sep=1)
except TypeError as error:
    print(error)
