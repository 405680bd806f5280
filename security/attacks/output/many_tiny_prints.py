# fence: limit | walls: limit | limits: stdout_total_bytes=65536
for _ in range(70_000):
    print(end="x")
print("BREACHED")
