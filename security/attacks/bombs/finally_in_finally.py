# fence: timeout/memory | walls: timeout/memory | limits: wall_seconds=0.1 | source: computed
"".join(f"{' ' * depth}try: pass\n{' ' * depth}finally:\n" for depth in range(16)) + " " * 16 + "pass\n" + "import time\nprint('BREACHED' if time.process_time() > 0.1 else 'too quick')\n"
