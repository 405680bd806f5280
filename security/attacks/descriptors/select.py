# fence: rejected | walls: error
import select
select.select([3], [], [], 0)
print("BREACHED")
