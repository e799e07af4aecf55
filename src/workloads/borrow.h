/* Configurations from other submitters' logs, one function a workload, for its row. */
#ifndef STAVE_WORKLOADS_BORROW_H
#define STAVE_WORKLOADS_BORROW_H

#include "workloads/workload.h"

int borrow_resnet50(const struct log *l, const struct workload_borrow *b, struct str *out);

#endif
