# fence: error | walls: -
try:
    from string import Formatter
except ImportError:
    import json
    Formatter = json.Formatter
print("BREACHED" if Formatter().format("{0.__class__}", 1) else "")
