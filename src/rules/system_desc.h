/* A system description, systems/NAME.json of a submission: its fields, and whether MLPerf's
 * system_desc_checker takes it. Fields that a person must fill hold "FILL IN: ..." until then.
 *
 * A description owns its texts until system_desc_release; a zeroed one is empty. Any thread. */
#ifndef STAVE_RULES_SYSTEM_DESC_H
#define STAVE_RULES_SYSTEM_DESC_H

#include <stddef.h>

#include "rules/findings.h"

enum { SYSTEM_FIELDS = 33 };
#define SYSTEM_FILL_IN "FILL IN: "

struct system_field {
    const char *name, *ask; /* ask "": may stay empty */
};
extern const struct system_field system_fields[SYSTEM_FIELDS];

struct system_desc {
    char *values[SYSTEM_FIELDS]; /* heap; NULL: not known, or not in the file */
};

/* -1: no such field. */
int system_field_index(const char *name);
/* "" when it is not known. */
const char *system_desc_get(const struct system_desc *d, const char *name);
/* Whether a value is one that nobody filled in yet: nothing is to be compared with it. */
int system_is_unfilled(const char *value);
/* value is copied; NULL: not known. */
void system_desc_set(struct system_desc *d, const char *name, const char *value);
void system_desc_release(struct system_desc *d);

/* The fields of a file; what is no string is taken as its JSON text. E_IO, E_DATA. */
int system_desc_read(struct system_desc *d, const char *path);
/* Every field, those not known as FILL IN. */
void system_desc_json(const struct system_desc *d, struct str *out);

/* Whether the checker of this ruleset ("4.0.0") takes a file; FINDING_ERROR says it does not. What
 * the checker passes over but a submission should not hold is FINDING_STRICT: fields that nobody
 * filled, texts that are no strings. */
void system_desc_check(const char *path, const char *ruleset, struct findings *f);

/* Availability as the logs' submission_status names it ("research"), from either vocabulary; NULL:
 * neither. */
const char *system_status_of(const char *status);

#endif
