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

static int help_with(const char *command)
{
    const struct command *const c = command_find(command);
    char name[] = "help", option[] = "--help";

    return c ? c->run(c, 2, (char *[]){name, option, NULL}) : command_unknown(command);
}

static int work(const struct command_line *line, const void *settings)
{
    (void)settings;
    if (line->n_args == 0) {
        print_list();
        return EXIT_REACHED;
    }
    return help_with(line->args[0]);
}

static int run(const struct command *self, int argc, char **argv)
{
    return command_line_run(self, argc, argv, NULL, work);
}

const struct command command_help = {
    .name = "help",
    .args = "[COMMAND]",
    .max_args = 1,
    .summary = "List the commands, or explain one",
    .run = run,
};
