"""An objective written for Optuna, unchanged: the space is what the objective asks for while it runs.

    shoal run examples/optuna_objective.py
"""

import optuna

import shoal


def objective(trial: optuna.Trial) -> float:
    """Log loss of a classifier trained step by step, pruned when it falls behind."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import SGDClassifier
    from sklearn.metrics import log_loss
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    samples, labels = load_breast_cancer(return_X_y=True)
    x_train, x_val, y_train, y_val = train_test_split(samples, labels, stratify=labels, random_state=0)
    scaler = StandardScaler().fit(x_train)

    penalty = trial.suggest_categorical("penalty", ["l2", "elasticnet"])
    model = SGDClassifier(
        loss="log_loss",
        alpha=trial.suggest_float("alpha", 1e-6, 1e-1, log=True),
        penalty=penalty,
        l1_ratio=trial.suggest_float("l1_ratio", 0.0, 1.0) if penalty == "elasticnet" else 0.15,
        learning_rate="constant",
        eta0=trial.suggest_float("eta0", 1e-4, 1.0, log=True),
        random_state=0,
    )
    loss = float("inf")
    for step in range(1, 11):
        model.partial_fit(scaler.transform(x_train), y_train, classes=np.unique(labels))
        loss = float(log_loss(y_val, model.predict_proba(scaler.transform(x_val))))
        trial.report(loss, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


study = shoal.Study(
    train=objective, minimize="loss", trials=20, strategy="tpe", early_stopping="optuna:MedianPruner"
)
