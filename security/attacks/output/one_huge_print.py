# fence: limit | walls: limit | limits: stdout_total_bytes=65536
print("x" * 1_000_000)
print("BREACHED")
