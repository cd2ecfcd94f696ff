"""Value analysis: what the graph says of the elements of integer tensors, whatever the data are."""
