#include "workloads/workload.h"

#include <string.h>

/* clang-format off */
#define WORKLOAD(name) extern const struct workload workload_##name;
#include "workloads/list.h"
#undef WORKLOAD

const struct workload *const workloads[] = {
#define WORKLOAD(name) &workload_##name,
#include "workloads/list.h"
#undef WORKLOAD
    NULL,
};
/* clang-format on */

const struct workload *workload_find(const char *name)
{
    for (int i = 0; workloads[i]; i++)
        if (strcmp(workloads[i]->name, name) == 0)
            return workloads[i];
    return NULL;
}

const struct preset *preset_find(const struct workload *w, const char *name)
{
    for (const struct preset *p = w->presets; p->name; p++)
        if (!name || strcmp(p->name, name) == 0)
            return p;
    return NULL;
}
