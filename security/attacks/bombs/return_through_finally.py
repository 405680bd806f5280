# fence: timeout/memory | walls: timeout/memory | limits: wall_seconds=0.1 | source: computed
"def f():\n for a in b:\n" + "".join(
    f"  {' ' * depth}try: return\n  {' ' * depth}finally:\n" for depth in range(11)
) + " " * 13 + "pass\n" + "import time\nprint('BREACHED' if time.process_time() > 0.1 else 'too quick')\n"
