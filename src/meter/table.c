/* The probes, in the order of their columns. */
#include "meter/meter.h"

#define PROBE(name) extern const struct probe_ops probe_##name;
#include "meter/list.h"

const struct probe_ops *const meter_probes[] = {
#define PROBE(name) &probe_##name,
#include "meter/list.h"
    NULL};
