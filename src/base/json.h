/* Parsing JSON. cJSON says "no document" both of text that is not JSON and of an allocation that
 * failed; here out of memory ends the program as in xmalloc, so NULL always means the text. Any
 * thread. */
#ifndef STAVE_BASE_JSON_H
#define STAVE_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* The document, which cJSON_Delete frees, or NULL. text has a zero byte behind its n bytes; *end,
 * when wanted, is where the document ends. What stands behind it is not looked at. */
cJSON *json_parse(const char *text, size_t n, const char **end);

#endif
