# fence: rejected | walls: crashed
import select
select.epoll().close()
print("BREACHED")
