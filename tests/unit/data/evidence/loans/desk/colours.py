INK = "blue"
