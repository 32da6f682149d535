"""The server under load, on loopback: speed beside a constant answer, malformed requests, reloads."""
