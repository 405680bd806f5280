# fence: timeout | walls: timeout | limits: wall_seconds=0.1
import time
from client_sdk import filter_rows
started = time.monotonic()
filter_rows([{"file": "a" * 24 + "b"}], include="^(a+)+$")
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
