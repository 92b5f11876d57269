"""Tables and figures from run folders, and the numbers the paper prints."""
