# fence: rejected | walls: -
import timeit
timeit.timeit("print('BREACHED')", number=1)
