# fence: rejected | walls: error
class Validated(__import__("os").PathLike):
    found = __import__("os").listdir("/")
print("BREACHED" if Validated.found else "")
