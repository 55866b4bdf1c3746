"""GPflow's SGPR, the sparse posterior of the paper's authors: all arms in one call, both outputs in one model.

"SGPR" is the documented fast way: a cached posterior, made anew when data arrive. "SGPR, compiled" goes further than
most users do: the data are variables of unknown length and the prediction is one traced graph. The run-time shape
checks are off in both.
"""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import gpflow
import numpy as np
import tensorflow as tf
from check_shapes.config import set_enable_check_shapes

from benchmarks.peers.peer import Array, Maker, Problem

PACKAGES = ("gpflow", "tensorflow", "numpy")

set_enable_check_shapes(False)
gpflow.config.set_default_jitter(1e-11)  # its default, 1e-6, is seen in the answers; the time is the same
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


class SGPR:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def model(self, x: tf.Variable | Array, y: tf.Variable | Array) -> gpflow.models.SGPR:
        problem = self.problem
        se = problem.kernel == "se"
        kernel = (gpflow.kernels.SquaredExponential if se else gpflow.kernels.Matern52)(
            lengthscales=problem.lengthscale
        )
        model = gpflow.models.SGPR(
            (x, y), kernel, inducing_variable=problem.inducing, noise_variance=problem.noise_std**2
        )
        gpflow.set_trainable(model, False)
        return model

    def start(self, x: Array, y: Array) -> None:
        self.x, self.y = x, y
        self.sgpr = self.model(x, y)
        self.posterior = self.sgpr.posterior()

    def predict(self, candidates: Array) -> tuple[Array, Array]:
        mean, variance = self.posterior.predict_f(candidates)
        return mean.numpy(), np.sqrt(variance.numpy())

    def append(self, x: Array, y: Array) -> None:
        self.x, self.y = np.concatenate([self.x, x]), np.concatenate([self.y, y])
        self.sgpr.data = gpflow.models.util.data_input_to_tensor((self.x, self.y))
        self.posterior = self.sgpr.posterior()


class CompiledSGPR(SGPR):
    def start(self, x: Array, y: Array) -> None:
        self.x = tf.Variable(x, shape=[None, x.shape[1]])
        self.y = tf.Variable(y, shape=[None, y.shape[1]])
        sgpr = self.model(self.x, self.y)
        shape = tf.TensorSpec([None, x.shape[1]], tf.float64)
        self.compiled = tf.function(lambda candidates: sgpr.predict_f(candidates), input_signature=[shape])

    def predict(self, candidates: Array) -> tuple[Array, Array]:
        mean, variance = self.compiled(candidates)
        return mean.numpy(), np.sqrt(variance.numpy())

    def append(self, x: Array, y: Array) -> None:
        self.x.assign(tf.concat([self.x, x], 0))
        self.y.assign(tf.concat([self.y, y], 0))


MAKERS: dict[str, Maker] = {"GPflow SGPR": SGPR, "GPflow SGPR, compiled": CompiledSGPR}
