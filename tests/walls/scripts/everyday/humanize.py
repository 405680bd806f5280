def size(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 1024 or unit == "GiB":
            return f"{n:.1f} {unit}" if unit != "B" else f"{n} B"
        n /= 1024


def ordinal(n):
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def duration(seconds):
    parts = []
    for name, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count}{name}")
    return " ".join(parts) or "0s"


def listing(items):
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last


print(size(500), size(2048), size(5 * 1024**3), [ordinal(n) for n in (1, 2, 3, 11, 22, 113)], duration(93784), duration(0), listing(["a", "b", "c"]), listing(["a"]))
