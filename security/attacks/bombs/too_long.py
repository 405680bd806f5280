# fence: rejected | walls: rejected | source: computed
"print('BREACHED')\n" + "x = 1\n" * 10_000
