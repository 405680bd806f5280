# fence: rejected | walls: -
exec(compile("print('BREACHED')", "x", "exec"))
