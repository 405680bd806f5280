# fence: rejected | walls: error
def runs(made):
    print("BREACHED" if __import__("os").listdir("/") else "")
    return made
@runs
class Validated:
    pass
