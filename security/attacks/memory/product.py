# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
from itertools import product
held = list(product(range(1_500), repeat=2))
time.sleep(0.3)
print("BREACHED")
