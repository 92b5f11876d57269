"""How long training takes here, part by part, and the least that it could."""
