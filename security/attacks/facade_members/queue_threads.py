# fence: error | walls: error
import statistics
os = statistics.random._os
print("BREACHED" if os.listdir("/") else "empty")
