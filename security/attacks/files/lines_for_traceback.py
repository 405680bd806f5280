# fence: rejected | walls: ok
import linecache
print("BREACHED" if linecache.getlines("/etc/passwd") else "empty")
