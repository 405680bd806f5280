# fence: limit | walls: limit | limits: stdout_total_bytes=65536
def flood(times):
    try:
        print("x" * 1_000)
    finally:
        if times:
            flood(times - 1)
flood(150)
print("BREACHED")
