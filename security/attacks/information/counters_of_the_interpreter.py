# fence: error | walls: -
import sys
print("BREACHED" if sys.getrefcount(None) else "")
