PAIRS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def roman(n):
    out = ""
    for value, letters in PAIRS:
        count, n = divmod(n, value)
        out += letters * count
    return out


def arabic(text):
    values = [dict((b, a) for a, b in PAIRS)[c] for c in text]
    return sum(-v if any(v < w for w in values[i + 1 :]) else v for i, v in enumerate(values))


print([roman(n) for n in (4, 9, 14, 1994, 2026)], arabic("MCMXCIV"), all(arabic(roman(n)) == n for n in range(1, 400)))
