"""Reading and writing trees of PECOS, napkinXC and omikuji."""
