# fence: rejected | walls: -
import marshal
import types
code = marshal.loads(marshal.dumps(compile("print('BREACHED')", "x", "exec")))
types.FunctionType(code, {"__builtins__": __builtins__})()
