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
