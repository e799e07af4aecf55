/* PROBE(name): probe_NAME, in the order of their columns. Include it with the macro defined. */
PROBE(cpu)
PROBE(memory)
PROBE(data)
PROBE(io)
PROBE(disk)
PROBE(store)
PROBE(network)
PROBE(pressure)
PROBE(gpu)
#undef PROBE
