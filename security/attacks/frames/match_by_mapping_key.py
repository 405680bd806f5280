# fence: rejected | walls: -
class Keys:
    import_name = "gi_frame"
match {"gi_frame": 1}:
    case {Keys.import_name: found}:
        generator = (1 for _ in ())
        print("BREACHED" if getattr(generator, Keys.import_name) else found)
