"""The study file that `shoal init` writes: small, complete, runs as it is."""

STARTER = '''"""A first study: tune a random forest on scikit-learn's wine data. Run it: shoal run {name}"""

import shoal
from shoal.spaces import Categorical, Float, Int, Space

space = Space(
    trees=Int(10, 200, log=True),
    depth=Int(1, 16),
    features=Float(0.1, 1.0),
    criterion=Categorical(["gini", "entropy"]),
)


def objective(config):
    """Return the number to maximise: accuracy by 3-fold cross-validation."""
    from sklearn.datasets import load_wine
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score

    samples, labels = load_wine(return_X_y=True)
    forest = RandomForestClassifier(
        n_estimators=config.trees,
        max_depth=config.depth,
        max_features=config.features,
        criterion=config.criterion,
        random_state=0,
    )
    return float(cross_val_score(forest, samples, labels, cv=3).mean())


study = shoal.Study(space=space, train=objective, maximize="accuracy", trials=20, strategy="tpe")
'''
