# fence: rejected | walls: memory | limits: memory_bytes=67108864
import time
from decimal import Context
wide = Context(prec=700_000_000, Emax=999_999_999)
held = wide.add(wide.create_decimal("1e650000000"), 1)
time.sleep(0.3)
print("BREACHED")
