# fence: rejected/error/timeout | walls: timeout | limits: wall_seconds=0.1
import time
import hashlib
started = time.monotonic()
hashlib.pbkdf2_hmac("sha256", b"", b"", 1_500_000)
print("BREACHED" if time.monotonic() - started > 0.1 else "too quick")
