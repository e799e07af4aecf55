/* PROBE(name): probe_NAME, in the order of their columns. Include it with the macro defined. */
PROBE(io)
PROBE(disk)
PROBE(store)
PROBE(gpu)
#undef PROBE
