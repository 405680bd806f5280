# fence: error/rejected | walls: ok
import sys
print("BREACHED" if any(sys.orig_argv) else "empty")
