items = ["a", "b", "a", "c", "b"]
first, last = {}, {}
for i, item in enumerate(items):
    first.setdefault(item, i)
    last[item] = i
print(first, last, next((i for i, x in enumerate(items) if x == "c"), -1), len(items) - 1 - items[::-1].index("a"))
longest, run = "", ""
for a, b in zip("aabbbcc", "aabbbcc"[1:] + " "):
    run += a
    if a != b:
        longest, run = max(longest, run, key=len), ""
print(longest)
