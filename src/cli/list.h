/* The commands, in the order of `stave help`. COMMAND(name): cmd_name.c defines command_name. */
COMMAND(help)
COMMAND(list)
COMMAND(prepare)
COMMAND(run)
COMMAND(export)
COMMAND(explain)
COMMAND(bench_op)
COMMAND(man)
