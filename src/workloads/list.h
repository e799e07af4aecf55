/* The workloads: WORKLOAD(name) promises workload_name. */
WORKLOAD(resnet50)
