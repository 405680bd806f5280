def sieve(n):
    flags = bytearray([1]) * (n + 1)
    flags[:2] = b"\0\0"
    for i in range(2, int(n**0.5) + 1):
        if flags[i]:
            flags[i * i :: i] = bytes(len(range(i * i, n + 1, i)))
    return [i for i, f in enumerate(flags) if f]


def factors(n):
    found, d = [], 2
    while d * d <= n:
        while n % d == 0:
            found.append(d)
            n //= d
        d += 1
    return found + [n] * (n > 1)


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def to_base(n, base):
    digits = ""
    while n:
        n, r = divmod(n, base)
        digits = "0123456789abcdef"[r] + digits
    return digits or "0"


print(sieve(50), factors(5040), gcd(84, 36), to_base(255, 2), to_base(255, 16), sum(int(c) for c in str(2**100)), [n for n in range(1, 100) if sum(d for d in range(1, n) if n % d == 0) == n])
