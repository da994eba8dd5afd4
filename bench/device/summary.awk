# Prints bench/gpu's figures as a table, and the ratios to the peers.
{
  name[NR] = $1; value[NR] = $2; unit[NR] = $3; goal[NR] = $4; met[NR] = $5
  split($2, parts, " ")
  median[$1] = parts[1]
}
function row(n, v, u, g, m) { printf "%-46s %24s %-5s %-9s %s\n", n, v, u, g, m }
function times(n, ours, theirs, g,    quotient, bound) {
  if (!(ours in median) || !(theirs in median) || median[ours] == 0) return
  quotient = median[theirs] / median[ours]
  bound = substr(g, 4) + 0
  row(n, sprintf("%.2f", quotient), "x", g, g == "" ? "" : (quotient >= bound ? "yes" : "no"))
}
END {
  row("figure", "median (quartiles)", "", "goal", "met")
  for (i = 1; i <= NR; ++i) row(name[i], value[i], unit[i], goal[i], met[i])
  times("float32, times as fast as CUB's Sum alone", "fold/float32/ms", "peer/cub sum/float32", ">= 1")
  split("float32 float64 float16 bfloat16 int8", dtypes, " ")
  for (d = 1; d <= 5; ++d) {
    times(dtypes[d] ", as fast as PyTorch's ten calls", "fold/" dtypes[d] "/ms", "peer/torch ten calls/" dtypes[d], ">= 15")
    times(dtypes[d] ", as fast as CuPy's ten calls", "fold/" dtypes[d] "/ms", "peer/cupy ten calls/" dtypes[d], "")
  }
  times("start-up, empty kernel / first result", "start-up/warm/device", "start-up/warm/empty-kernel", ">= 0.77")
}
