# fence: limit | walls: limit | limits: stdout_total_bytes=65536
import sys
for _ in range(200):
    sys.stderr.write("x" * 1_000)
print("BREACHED")
