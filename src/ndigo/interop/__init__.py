"""Our worlds for Gymnasium and gymnax; other people's as ours (`suites`); any by its name (`finding`)."""
