"""Small PyTorch jobs, most with one planted fault. JOBS has each by its name, with the verdict that it has to get."""
from . import inputs, forward, backward, clean, unusual  # in the order of JOBS
