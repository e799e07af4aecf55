/* FIGURE(name, WHERE, column): what a study knows of each run, a number whose name ends in its
 * unit, in the order of study.json. Include it with the macro defined. WHERE is how it is found:
 * MEAN the mean of a column of samples.csv over the phase train, RATE what a counting column gained
 * there per second, GPU_MEAN and GPU_SUM the mean and the sum over accelerators of such means, of
 * columns gpuN_NAME, and OTHER what other files say. */
FIGURE(run_s, OTHER, NULL)
FIGURE(train_samples_per_s, OTHER, NULL)
FIGURE(wait_ratio, OTHER, NULL)
FIGURE(disk_read_bytes_per_s, RATE, "disk_read_bytes")
FIGURE(disk_write_bytes_per_s, RATE, "disk_write_bytes")
FIGURE(cpu_process_percent, MEAN, "cpu_process_percent")
FIGURE(cpu_machine_percent, MEAN, "cpu_machine_percent")
FIGURE(memory_anon_bytes, MEAN, "memory_anon_bytes")
FIGURE(memory_file_bytes, MEAN, "memory_file_bytes")
FIGURE(gpu_sm_percent, GPU_MEAN, "sm_percent")
FIGURE(gpu_memory_used_bytes, GPU_SUM, "memory_used_bytes")
FIGURE(delivered_ratio, OTHER, NULL)
FIGURE(ingest_bytes_per_s, OTHER, NULL)
FIGURE(ingest_p99_ms, OTHER, NULL)
#undef FIGURE
