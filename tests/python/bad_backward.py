"""A torch.autograd.Function whose backward makes NaN."""
import math

import torch


class BadBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient * math.nan
