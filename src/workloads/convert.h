/* Preparing for the workloads whose data are labelled pictures: what run reads, in another format.
 */
#ifndef STAVE_WORKLOADS_CONVERT_H
#define STAVE_WORKLOADS_CONVERT_H

#include "workloads/workload.h"

/* From's splits train and val; when it holds neither, it is a data set itself, which becomes train.
 */
int workload_convert(const struct workload_prepare *p, struct prepare_result *out);

#endif
