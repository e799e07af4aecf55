/* The passes, in the order in which they run: PASS(name, what it does). */
PASS(lower, "composite ops become their parts")
PASS(precision, "activations and gradients are stored in less, where asked for")
PASS(fuse, "neighbours become one step where the backend accepts")
PASS(prune, "steps whose results nobody reads go")
