"""The loss, the norms of gradients and the findings of a dump in Weights & Biases, from beside the training.

    python3 follow_wandb.py runs/nan my-project
"""
import sys

import tensorstat
import wandb

path, project = sys.argv[1], sys.argv[2]
idle = float(sys.argv[3]) if len(sys.argv) > 3 else None  # seconds without rows, after which it ends
run = wandb.init(project=project, name=path)
run.define_metric("*", step_metric="iteration")  # rows of several ranks do not come in the order of iterations
for news in tensorstat.follow(path, idle=idle):
    if isinstance(news, tensorstat.Finding):
        level = wandb.AlertLevel.ERROR if news.severity == "error" else wandb.AlertLevel.WARN
        run.alert(title=f"{news.rule} at iteration {news.first_iteration}", text=f"{news.text}\n{news.next}", level=level)
    elif news["op type"] in ("Loss", "Gradient"):
        value = news["avg"] if news["op type"] == "Loss" else news["l2norm"]
        run.log({f"rank {news['rank']}/{news['op name']}": value, "iteration": news["iteration"]})
run.finish()
