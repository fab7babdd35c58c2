"""The alpha-beta algorithm (Rastogi, Suciu and Hong 2007): rows kept by coins among noise from the domain."""
