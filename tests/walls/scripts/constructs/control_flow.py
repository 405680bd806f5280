for i in range(10):
    if i % 2:
        continue
    if i > 6:
        break
    print(i, end=" ")
else:
    print("not here")
print()
n = 27
steps = 0
while n != 1:
    n = n // 2 if n % 2 == 0 else 3 * n + 1
    steps += 1
else:
    print("collatz", steps)
for a in range(3):
    for b in range(3):
        if a * b == 2:
            print("found", a, b)
            break
    else:
        continue
    break
x = 5
print("big" if x > 3 else "small", 1 < x < 10, x and "and", 0 or "or", not x, x is not None, x in (1, 5), 3 <= x != 6)
pass
if x == 1:
    ...
elif x == 5:
    print("five")
else:
    print("other")
for _ in ():
    pass
else:
    print("empty loop")
while True:
    try:
        break
    finally:
        print("finally in loop")
def early(items):
    for item in items:
        if item < 0:
            return f"negative {item}"
    return "fine"
print(early([1, -2]), early([]))
def finally_wins():
    for i in range(3):
        try:
            continue
        finally:
            print("f", i)
    return "end"
print(finally_wins())
assert x, "never"
lambda: 0
"a string statement"
print(*range(3), sep=", ", end=".\n")
print("a", "b", sep="", end=""); print(); print(); print(None, True, 1.0, sep="|")
