# fence: rejected | walls: error/ok
import pwd
print("BREACHED" if pwd.getpwall() else "nobody")
