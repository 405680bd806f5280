# fence: rejected | walls: -
match [1]:
    case [__ｂuiltins__]:
        print("BREACHED" if __builtins__ == 1 else "")
