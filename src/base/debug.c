#include "base/debug.h"

#include <stdlib.h>

#include "base/err.h"

static enum debug_level level;

int debug_read(void)
{
    const char *const text = getenv("DEBUG");

    level = DEBUG_OFF;
    if (!text || !*text)
        return 0;
    if (text[0] < '0' || text[0] > '0' + DEBUG_VALUES || text[1])
        return err(E_USAGE,
                   "the environment variable DEBUG is \"%.60s\"; expected 0 to %d, or unset it",
                   text, DEBUG_VALUES);
    level = (enum debug_level)(text[0] - '0');
    return 0;
}

enum debug_level debug_level(void)
{
    return level;
}
