# fence: rejected | walls: error
import resource
print("BREACHED" if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss else "")
