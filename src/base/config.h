/* A configuration file: YAML, one flat mapping of option names to values. Sections, lists, anchors,
 * aliases, tags and a second document are refused with file and line; so are a key without a value
 * and a key given twice. The file comes from outside: it may hold anything and be refused, never
 * crash the program. At most CONFIG_MAX_BYTES. */
#ifndef STAVE_BASE_CONFIG_H
#define STAVE_BASE_CONFIG_H

enum { CONFIG_MAX_BYTES = 1 << 20, CONFIG_MAX_KEYS = 1000 };

/* where is "FILE:LINE". A negative code ends the reading and is returned. */
typedef int config_set(void *context, const char *key, const char *value, const char *where);

/* Calls set for every line in order. A file of comments alone sets nothing. */
int config_load(const char *path, config_set *set, void *context);

#endif
