"""A trained agent, to use and to look into."""
