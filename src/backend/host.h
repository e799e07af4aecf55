/* What backends whose device memory is the host's share: allocation, copies, plain answers. */
#ifndef STAVE_BACKEND_HOST_H
#define STAVE_BACKEND_HOST_H

#include "backend/backend.h"

int host_alloc(struct device *d, size_t bytes, void **out); /* zeroed, 64-byte aligned, touched */
void host_free(struct device *d, void *p, size_t bytes);
int host_write(struct device *d, void *dst, const void *src, size_t bytes);
int host_read(struct device *d, void *dst, const void *src, size_t bytes);
int host_sync(struct device *d);
int host_supports(const struct device *d, enum dtype t); /* f32 and bf16 */
int host_accepts(const struct node *n); /* every fusion of its op: a kernel's accepts() */

#endif
