# fence: rejected | walls: error
import sys
print("BREACHED" if open("/proc/self/cmdline").read() else sys.argv)
