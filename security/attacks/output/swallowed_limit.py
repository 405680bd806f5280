# fence: limit | walls: limit | limits: stdout_total_bytes=65536
for _ in range(200):
    try:
        print("x" * 1_000)
    except BaseException:
        pass
print("BREACHED")
