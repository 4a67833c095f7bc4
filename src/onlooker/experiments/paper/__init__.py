"""Section 4 of the paper: the rivals on the three experiments, precision and recall, graph size."""
