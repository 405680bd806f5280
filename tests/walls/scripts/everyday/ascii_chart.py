data = {"mon": 3, "tue": 7, "wed": 5, "thu": 0}
peak, height = max(data.values()), 5
for level in range(height, 0, -1):
    print(f"{level * peak / height:4.1f} |" + "".join(" █ " if v / peak * height >= level else "   " for v in data.values()))
print("     +" + "---" * len(data))
print("      " + "".join(f"{k[:2]:^3}" for k in data))
spark = "▁▂▃▄▅▆▇█"
print("".join(spark[min(7, v * 7 // peak)] for v in data.values()), f"{'total':>8}: {sum(data.values()):<5}|", f"{sum(data.values()) / len(data):.2f}".rjust(10, "."))
