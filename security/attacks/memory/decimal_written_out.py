# fence: memory | walls: memory | limits: memory_bytes=67108864
import time
from decimal import Decimal
held = f"{Decimal('1e280000000'):f}"
time.sleep(0.3)
print("BREACHED")
