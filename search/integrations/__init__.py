"""Other tools' interfaces, on the path of shoal itself: write `shoal.optuna`, not `shoal.search.integrations.optuna`."""
