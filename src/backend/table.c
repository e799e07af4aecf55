#include <string.h>

#include "backend/backend.h"

/* clang-format off */
#define BACKEND(name) extern const struct backend backend_##name;
#include "backend/list.h"
#undef BACKEND

const struct backend *const backends[] = {
#define BACKEND(name) &backend_##name,
#include "backend/list.h"
#undef BACKEND
    NULL,
};
/* clang-format on */

const struct backend *backend_find(const char *name)
{
    for (int i = 0; backends[i]; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
