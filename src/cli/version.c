#include "cli/version.h"

#include <stddef.h>
#include <stdio.h>

#include <cjson/cJSON.h>
#include <jpeglib.h>
#include <png.h>
#include <yaml.h>
#include <zlib.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

void version_print(FILE *out)
{
    fprintf(out, "stave %s\n", STAVE_VERSION);
    fprintf(out, "oneDNN %s, libjpeg-turbo %s, libpng %s, cJSON %s, libyaml %s, zlib %s; gcc %s\n",
            *STAVE_DNNL ? STAVE_DNNL : "absent", TEXT(LIBJPEG_TURBO_VERSION),
            png_get_libpng_ver(NULL), cJSON_Version(), yaml_get_version_string(), zlibVersion(),
            __VERSION__);
}
