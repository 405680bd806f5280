# fence: rejected | walls: error
exec("import os; print('BREACHED' if os.listdir('/') else 0)")
