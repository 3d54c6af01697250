"""Tune a program: any language, any framework, as long as it prints its metric.

    shoal run examples/command.py
"""

import shlex
import sys

import shoal
from shoal.spaces import Float, Space

space = Space(
    lr=Float(1e-3, 10.0, log=True),
    momentum=Float(0.0, 0.95),
    decay=Float(1e-6, 1e-1, log=True),
)

PYTHON = shlex.quote(sys.executable)  # this environment's, whichever `python` the shell would find

study = shoal.Study(
    space=space,
    train=shoal.Command(PYTHON + " train_classifier.py --lr {lr} --momentum {momentum} --decay {decay}"),
    minimize="loss",
    trials=12,
    strategy="sobol",
    early_stopping=shoal.Median(),
)
