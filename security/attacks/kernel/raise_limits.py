# fence: rejected | walls: crashed
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
print("BREACHED")
