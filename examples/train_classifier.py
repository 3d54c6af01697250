"""A program that knows nothing of shoal: logistic regression by gradient descent on scikit-learn's breast cancer data.

It prints its validation loss after each epoch, as any training program does.
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--momentum", type=float, required=True)
parser.add_argument("--decay", type=float, required=True)
options = parser.parse_args()

samples, labels = load_breast_cancer(return_X_y=True)
samples = (samples - samples.mean(0)) / samples.std(0)
x_train, x_val, y_train, y_val = train_test_split(samples, labels, stratify=labels, random_state=0)

weights, velocity = np.zeros(samples.shape[1]), np.zeros(samples.shape[1])
for epoch in range(1, 21):
    predicted = 1 / (1 + np.exp(-x_train @ weights))
    gradient = x_train.T @ (predicted - y_train) / len(y_train) + options.decay * weights
    velocity = options.momentum * velocity - options.lr * gradient
    weights += velocity
    margin = (2 * y_val - 1) * (x_val @ weights)
    print(f"epoch={epoch} loss={np.logaddexp(0, -margin).mean():.6g}", flush=True)
