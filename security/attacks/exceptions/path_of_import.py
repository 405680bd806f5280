# fence: ok | walls: -
try:
    from json import nothing
except ImportError as error:
    print("BREACHED" if "/" in str(error.path) else error.path)
