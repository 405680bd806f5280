# fence: ok | walls: ok
class Undead:
    def __del__(self):
        print("BREACHED")
undead = Undead()
