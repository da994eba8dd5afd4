"""The loss, the norms of gradients and the findings of a dump in MLflow, from beside the training.

    python3 follow_mlflow.py runs/nan my-experiment
"""
import math
import re
import sys

import mlflow
import tensorstat

path, experiment = sys.argv[1], sys.argv[2]
idle = float(sys.argv[3]) if len(sys.argv) > 3 else None  # seconds without rows, after which it ends
mlflow.set_experiment(experiment)
with mlflow.start_run(run_name=path):
    for news in tensorstat.follow(path, idle=idle):
        if isinstance(news, tensorstat.Finding):
            mlflow.set_tag(f"finding.{news.rule}.{news.first_iteration}", str(news)[:5000])
        elif news["op type"] in ("Loss", "Gradient"):
            value = news["avg"] if news["op type"] == "Loss" else news["l2norm"]
            # MLflow keeps NaN as 0: a run that is lost would look perfect. The findings say it.
            if math.isfinite(value):
                name = re.sub(r"[^\w\-. /]", "_", f"rank {news['rank']}/{news['op name']}")
                mlflow.log_metric(name, value, step=news["iteration"])
