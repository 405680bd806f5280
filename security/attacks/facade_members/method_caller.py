# fence: error | walls: -
import operator
print("BREACHED" if operator.methodcaller("__getattribute__", "__class__")(1) else "")
