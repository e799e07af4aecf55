#include "cli/version.h"

#include <stddef.h>
#include <stdio.h>

#include <cjson/cJSON.h>
#include <gnu/libc-version.h>
#include <jpeglib.h>
#include <png.h>
#include <yaml.h>
#include <zlib.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

void version_parts(struct version_part out[VERSION_PARTS])
{
    const struct version_part parts[VERSION_PARTS] = {
        {"stave", STAVE_VERSION},
        {"oneDNN", *STAVE_DNNL ? STAVE_DNNL : NULL},
        {"libjpeg-turbo", TEXT(LIBJPEG_TURBO_VERSION)},
        {"libpng", png_get_libpng_ver(NULL)},
        {"cJSON", cJSON_Version()},
        {"libyaml", yaml_get_version_string()},
        {"zlib", zlibVersion()},
        {"gcc", __VERSION__},
        {"glibc", gnu_get_libc_version()},
    };

    for (int i = 0; i < VERSION_PARTS; i++)
        out[i] = parts[i];
}

void version_print(FILE *out)
{
    struct version_part parts[VERSION_PARTS];

    version_parts(parts);
    fprintf(out, "stave %s\n", STAVE_VERSION);
    for (int i = 1; parts[i].name; i++)
        fprintf(out, "%s%s %s", i > 1 ? ", " : "", parts[i].name,
                parts[i].version ? parts[i].version : "absent");
    fputc('\n', out);
}
