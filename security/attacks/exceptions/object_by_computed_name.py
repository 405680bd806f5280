# fence: rejected | walls: -
import math
try:
    math.nothing
except AttributeError as error:
    print("BREACHED" if "module" in str(getattr(error, "o" + "bj")) else "")
