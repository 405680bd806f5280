import base64
import string


def caesar(text, k):
    table = str.maketrans(string.ascii_lowercase + string.ascii_uppercase, "".join(a[k:] + a[:k] for a in (string.ascii_lowercase, string.ascii_uppercase)))
    return text.translate(table)


def rle(text):
    from itertools import groupby

    return "".join(f"{len(list(g))}{c}" for c, g in groupby(text))


secret = caesar("Hello, World", 3)
print(secret, caesar(secret, -3), rle("aaabccd"), base64.b64encode("päß".encode()).decode(), "".join(chr(ord(c) ^ 1) for c in "abc"), " ".join(f"{b:08b}" for b in b"Hi"), "hello".encode("rot13") if False else "")
