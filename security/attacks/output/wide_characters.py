# fence: limit | walls: limit | limits: stdout_total_bytes=65536
print("\N{GRINNING FACE}" * 30_000)
print("BREACHED")
