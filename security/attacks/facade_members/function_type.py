# fence: rejected | walls: -
import types
def own():
    return "BREACHED"
print(types.FunctionType(own.__code__, {})())
