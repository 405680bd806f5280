# fence: rejected | walls: error
from statistics import sys
os = sys.modules["os"]
print("BREACHED" if os.listdir("/") else "empty")
