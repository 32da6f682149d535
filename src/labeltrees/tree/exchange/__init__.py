"""Trees to and from the forms of PECOS, napkinXC and omikuji."""
