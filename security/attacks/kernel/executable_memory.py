# fence: rejected | walls: crashed/error
import mmap
mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
print("BREACHED")
