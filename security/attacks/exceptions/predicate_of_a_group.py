# fence: rejected | walls: -
def failing():
    raise ValueError("told")

seen = []

def told(error):
    seen.append(getattr(error, "__trace" + "back__"))
    return not isinstance(error, ExceptionGroup)

try:
    failing()
except ValueError as error:
    ExceptionGroup("several", [error]).split(told)
print("BREACHED" if "traceback object" in str(seen) else seen)
