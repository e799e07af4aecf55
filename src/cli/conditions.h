/* The conditions that a run is made under, beside its own settings: how often the machine is
 * measured, a ceiling over its memory, a limit on its disk, somebody else writing meanwhile. One
 * table of options, for every command that starts runs. */
#ifndef STAVE_CLI_CONDITIONS_H
#define STAVE_CLI_CONDITIONS_H

#include "base/opt.h"

struct conditions_settings {
    double sample_rate;   /* samples of the machine a second; 0: none */
    double warm;          /* seconds of training that are warm-up */
    char *memory, *cache; /* "16G", "25%-of-data"; NULL, "none": no ceiling */
    long long disk_limit; /* bytes a second; 0: none */
    char *ingest;         /* "engine=sync jobs=4 bs=128k ..."; NULL, "off": none */
};
extern const struct opt_table conditions_options;

#endif
