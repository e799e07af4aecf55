#include "cli/command.h"

#include <limits.h>
#include <string.h>

#include "base/err.h"

#define COMMAND(name) extern const struct command command_##name;
#include "cli/list.h"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "cli/list.h"
#undef COMMAND
    NULL};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (opt_same_name(commands[i]->name, name))
            return commands[i];
    return NULL;
}

int command_unknown(const char *name)
{
    const struct command *nearest = NULL;
    int best = INT_MAX;

    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden && opt_nearer(name, commands[i]->name, &best))
            nearest = commands[i];
    if (nearest)
        return err(E_USAGE, "no command is called %.100s; did you mean %s?", name, nearest->name);
    return err(E_USAGE, "no command is called %.100s; stave help lists them", name);
}

int command_exit_code(int error)
{
    switch (error) {
    case E_USAGE:
    case E_SHAPE: /* shapes follow from the settings */
        return EXIT_USAGE;
    case E_NUMERIC:
    case E_STOPPED:
        return EXIT_NOT_REACHED;
    default:
        return EXIT_WORLD;
    }
}

void command_add_limits(const struct opt_row *row, struct str *out)
{
    const int bounded = row->type == OPT_CHOICE || row->min != 0 || row->max != 0;

    if (!bounded && !row->dflt)
        return;
    str_add(out, " (");
    if (bounded)
        opt_add_domain(row, out);
    if (row->dflt)
        str_printf(out, "%sdefault %s", bounded ? "; " : "", row->dflt);
    str_add(out, ")");
}
