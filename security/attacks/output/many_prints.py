# fence: limit | walls: limit | limits: stdout_total_bytes=65536
for _ in range(200):
    print("x" * 1_000)
print("BREACHED")
