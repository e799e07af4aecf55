/* Reading JSON, and writing an object's members. cJSON says "no document" both of text that is not
 * JSON and of an allocation that failed; here out of memory ends the program as in xmalloc, so NULL
 * always means the text. Any thread. */
#ifndef STAVE_BASE_JSON_H
#define STAVE_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

struct str;

/* The document, which cJSON_Delete frees, or NULL. text has a zero byte behind its n bytes; *end,
 * when wanted, is where the document ends. What stands behind it is not looked at. */
cJSON *json_parse(const char *text, size_t n, const char **end);
/* A file of at most a MiB that holds an object. E_IO, E_DATA with *doc NULL. */
int json_read_object(const char *path, cJSON **doc);

/* Members of an object that is being written: `{` or what stands before is in out already, and a
 * comma comes where there is a member before. What is not known is absent: a NULL or empty text, a
 * number that is not finite. A NULL key is an array's element. */
void json_add_key(struct str *out, const char *key);
void json_add_text(struct str *out, const char *key, const char *text);
void json_add_real(struct str *out, const char *key, double x);
void json_add_flag(struct str *out, const char *key, int yes);
/* Appends a value that was read, numbers in as many digits as they have, which cJSON's own writer
 * does not; one that is not finite (1e999) is null. */
void json_add_value(struct str *out, const cJSON *v);

#endif
