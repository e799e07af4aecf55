/* The optimisers: OPTIMISER(name, help) promises the builder optimiser_name_update(). */
OPTIMISER(sgd, "stochastic gradient descent with momentum")
OPTIMISER(lars, "layer-wise adaptive rate scaling")
OPTIMISER(adamw, "Adam with decoupled weight decay")
