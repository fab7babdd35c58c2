"""What tests share: random tables, policies, releases, and ways to run things."""
