# fence: rejected | walls: error/ok
import runpy
print("BREACHED" if runpy.run_module("this") else "")
