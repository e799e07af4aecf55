/* `stave help`: the commands, or one command's own help. */
#include <stdio.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/command_line.h"

static void print_list(void)
{
    puts("Stave trains real models to a target quality and says which part of the machine was the "
         "limit.\n\nUsage: stave COMMAND [ARGUMENT...] [OPTION...]\n\nCommands:");
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            printf("  %-10s %-12s %s\n", commands[i]->name,
                   commands[i]->args ? commands[i]->args : "", commands[i]->summary);
    puts("\nstave COMMAND --help says more about one; stave --version names the build.");
}

static int run(const struct command *self, int argc, char **argv)
{
    struct command_line line;
    int rc;

    command_line_init(&line, self, argc, argv);
    rc = command_line_parse(&line);
    if (rc == 0 && line.n_args == 0) {
        print_list();
    } else if (rc == 0) {
        const struct command *c = command_find(line.args[0]);
        char name[] = "help", option[] = "--help";
        rc = c ? c->run(c, 2, (char *[]){name, option, NULL}) : command_unknown(line.args[0]);
    }
    command_line_release(&line);
    return rc < 0 ? rc : EXIT_REACHED;
}

const struct command command_help = {
    .name = "help",
    .args = "[COMMAND]",
    .max_args = 1,
    .summary = "List the commands, or explain one",
    .run = run,
};
