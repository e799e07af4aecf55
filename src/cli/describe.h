/* The machine's part of a system description: what the kernel, NVML and this program's own parts
 * say, in the words of the fields. */
#ifndef STAVE_CLI_DESCRIBE_H
#define STAVE_CLI_DESCRIBE_H

#include "meter/system.h"
#include "rules/system_desc.h"

/* Sets the fields that the machine answers; the others stay as they are. The caller releases d. */
void describe_machine(const struct system_info *s, struct system_desc *d);
/* The software that was found, and in words what is missing, a line each. */
void describe_software(const struct system_info *s, struct str *out);
/* What was read, as members of a JSON object without the braces; what is not known is absent. */
void describe_json(const struct system_info *s, struct str *out);
/* Mounts, links and whatever else no field of the description has room for, a line each. */
void describe_more(const struct system_info *s, struct str *out);

#endif
