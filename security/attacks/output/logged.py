# fence: limit | walls: limit | limits: stdout_total_bytes=65536
import logging
for _ in range(200):
    logging.warning("x" * 1_000)
print("BREACHED")
