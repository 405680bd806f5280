# fence: - | walls: memory/limit | limits: memory_bytes=134217728
result, held = [], []
for number in range(100):
    held.append("x" * 10_000_000)
    result.append("x" * 10_000)
print("BREACHED")
