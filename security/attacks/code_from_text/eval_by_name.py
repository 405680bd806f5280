# fence: rejected | walls: error
import builtins
os = builtins.eval("__import__('os')")
print("BREACHED" if os.listdir("/") else "empty")
