# fence: error | walls: -
import sys
vars(sys.modules["builtins"])["evil"] = "BREACHED"
print(1 and evil)
