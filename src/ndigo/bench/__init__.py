"""How long training takes here, what it costs, and the least that it could."""
