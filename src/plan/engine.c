#include "plan/engine.h"

#include "base/debug.h"
#include "base/err.h"
#include "base/str.h"
#include "plan/debug.h"

int engine_open(struct engine *e, const char *backend, struct device_options o)
{
    struct str names = STR_INIT;

    *e = (struct engine){.backend = backend_find(backend)};
    if (e->backend) {
        TRY(e->backend->open(&o, &e->device));
        if (debug_level() >= DEBUG_PLANS)
            debug_engine(e);
        return 0;
    }
    for (int i = 0; backends[i]; i++)
        str_printf(&names, "%s%s", i ? ", " : "", backends[i]->name);
    err(E_USAGE, "no device is named %s in this build; there are %s", backend, names.s);
    str_release(&names);
    return E_USAGE;
}

void engine_close(struct engine *e)
{
    if (e->device)
        e->backend->close(e->device);
    *e = (struct engine){0};
}
