"""The models: an old program, data, and a port with switches each."""
