# fence: rejected | walls: error
import ctypes, os, time
libc = ctypes.CDLL(None)
clock = ctypes.c_int()
# Reading clocks is allowed, and there is one for the CPU time of each process that can be seen.
if libc.clock_getcpuclockid(os.getppid() or 2, ctypes.byref(clock)):
    raise OSError("no such process")
time.clock_gettime(clock.value)
print("BREACHED")
