# fence: rejected | walls: -
class Validated:
    x: __import__("os").listdir("/") = 1
print("BREACHED" if Validated.__annotations__["x"] else "")
