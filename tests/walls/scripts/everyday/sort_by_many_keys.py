people = [{"n": "bo", "a": 30, "t": ["x"]}, {"n": "al", "a": 25, "t": []}, {"n": "cy", "a": 30, "t": ["y", "z"]}]
print([p["n"] for p in sorted(people, key=lambda p: (-p["a"], p["n"]))])
people.sort(key=lambda p: len(p["t"]), reverse=True)
print([p["n"] for p in people], min(people, key=lambda p: p["a"])["n"], sorted("banana", key="nab".index), sorted([(2, "b"), (1, "z"), (2, "a")]))
print(sorted(["file10", "file2", "File1"], key=lambda s: (s[:4].lower(), int(s[4:]))), sorted([None, 3, 1], key=lambda v: (v is None, v)))
