"""Programs drawn at random, and their gradients in each way that the site calls equal."""
