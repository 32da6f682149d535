"""Operating points: what each setting costs and gives, and which one to take."""
