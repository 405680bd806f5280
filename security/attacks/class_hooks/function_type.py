# fence: rejected | walls: error
Function = type(lambda: 0)
def source():
    pass
code = compile("import os\nprint('BREACHED' if os.listdir('/') else 0)", "x", "exec")
Function(code, {})()
