# fence: error | walls: -
import sys
print("BREACHED" if sys.version_info and sys.executable else "")
