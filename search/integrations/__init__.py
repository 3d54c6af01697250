"""Other tools' interfaces. The folder is on the path of shoal itself: `shoal.optuna` is the name to use."""
