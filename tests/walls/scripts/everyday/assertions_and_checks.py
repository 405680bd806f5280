def check(label, condition):
    print("PASS" if condition else "FAIL", label)


check("sum", sum([1, 2]) == 3)
check("order", [1, 2] == sorted([2, 1]))
try:
    assert isinstance("x", int), f"expected int, got {type('x').__name__}"
except AssertionError as error:
    print("assertion:", error)
tests = {"add": lambda: 1 + 1 == 2, "fails": lambda: 1 == 2, "raises": lambda: 1 / 0}
for name, test in tests.items():
    try:
        print(name, "ok" if test() else "not ok")
    except Exception as error:
        print(name, "error", type(error).__name__, error)
