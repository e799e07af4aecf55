/* The tables of all metrics, from the list. */
#ifndef STAVE_EVAL_METRICS_H
#define STAVE_EVAL_METRICS_H

#include "eval/metric.h"

#define METRIC(name) extern const struct metric_ops metric_##name;
#include "eval/list.h"
#undef METRIC

#endif
