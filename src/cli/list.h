/* The commands, in the order of `stave help`. COMMAND(name): cmd_name.c defines command_name. */
COMMAND(help)
COMMAND(list)
COMMAND(prepare)
COMMAND(run)
COMMAND(watch)
