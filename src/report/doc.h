/* Members of JSON documents that others wrote: what is missing or of another type is NULL or NAN.
 * A NULL object has no members. */
#ifndef STAVE_REPORT_DOC_H
#define STAVE_REPORT_DOC_H

#include "base/json.h"

const cJSON *doc_get(const cJSON *object, const char *name);
const char *doc_text(const cJSON *object, const char *name);
double doc_number(const cJSON *object, const char *name);

#endif
