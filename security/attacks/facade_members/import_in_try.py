# fence: rejected | walls: error
try:
    from collections import _sys as sys
except ImportError as error:
    raise ValueError("held") from error
os = sys.modules["os"]
print("BREACHED" if os.listdir("/") else "empty")
