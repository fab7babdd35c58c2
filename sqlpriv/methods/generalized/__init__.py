"""What methods share that publish labels in the place of values: what labels are, and answers with hard bounds."""
