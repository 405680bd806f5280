import difflib

old = "retry: 3\ntimeout: 30\nmode: fast\n".splitlines()
new = "retry: 5\ntimeout: 30\nmode: fast\nlog: on\n".splitlines()
for line in difflib.unified_diff(old, new, "old", "new", lineterm="", n=1):
    print(line)
a = dict(l.split(": ") for l in old)
b = dict(l.split(": ") for l in new)
print({k: (a.get(k), b.get(k)) for k in sorted(a.keys() | b.keys()) if a.get(k) != b.get(k)}, f"{difflib.SequenceMatcher(None, old, new).ratio():.3f}")
