# fence: rejected | walls: rejected | source: computed
"print('BREACHED');" + "x=1;" * 15_000
