# fence: rejected | walls: -
class Group(BaseExceptionGroup):
    def derive(self, errors):
        print("BREACHED")
        return super().derive(errors)
Group("group", [ValueError()]).subgroup(ValueError)
