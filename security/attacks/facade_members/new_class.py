# fence: error | walls: -
import types
Made = types.new_class("Made", (), {}, lambda namespace: namespace.update(__str__=lambda self: "BREACHED"))
print(Made())
