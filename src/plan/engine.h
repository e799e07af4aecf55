/* An opened backend: what banks and plans are made on. open/close; one thread. */
#ifndef STAVE_PLAN_ENGINE_H
#define STAVE_PLAN_ENGINE_H

#include "backend/backend.h"

struct engine {
    const struct backend *backend;
    struct device *device;
};

int engine_open(struct engine *e, const char *backend, struct device_options o);
void engine_close(struct engine *e);

#endif
