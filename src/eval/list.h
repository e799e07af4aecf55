/* Every metric, one a line: METRIC(name) is `const struct metric_ops metric_NAME`. */
METRIC(top1)
