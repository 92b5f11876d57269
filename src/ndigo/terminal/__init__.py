"""What the commands need of a terminal: options, keys and a screen."""
