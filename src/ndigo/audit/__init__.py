"""The audit: what an agent's model pays it, beside what a perfect model would pay on the same episodes."""
