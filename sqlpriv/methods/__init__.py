"""The ways to protect a table, a folder each; randomized/ holds what the randomized ones share."""
