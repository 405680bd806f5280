import re

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    found = re.findall(r"(\d+)\s*([smhd])", text)
    if not found:
        raise ValueError(f"no duration in {text!r}")
    return sum(int(n) * UNITS[u] for n, u in found)


print([seconds(t) for t in ("90s", "1h 30m", "2d3h")])
try:
    seconds("soon")
except ValueError as error:
    print(error)
convert = {("km", "mi"): 0.621371, ("kg", "lb"): 2.20462}
print({f"{a}->{b}": round(10 * f, 2) for (a, b), f in convert.items()}, f"{37.5 * 9 / 5 + 32:.1f}°F")
