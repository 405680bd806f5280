# fence: rejected | walls: error/ok
from pathlib import Path
print("BREACHED" if Path("/etc/passwd").exists() else "no")
