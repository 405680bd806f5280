# fence: ok/error | walls: -
import statistics
import textwrap

line = statistics.linear_regression([1, 2], [1, 2])
try:
    textwrap.TextWrapper.unicode_whitespace_trans[ord("a")] = ord("b")
    type(line)._field_defaults["slope"] = 1
except (TypeError, AttributeError):
    pass
print("BREACHED" if "b" in textwrap.fill("a") else "")
