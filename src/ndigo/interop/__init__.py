"""The worlds in other libraries' clothes: Gymnasium and gymnax. Importing this costs nothing."""
