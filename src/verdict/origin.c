#include "verdict/origin.h"

#include <math.h>

/* Everybody's reads of the devices prove nothing when they are many, and prove the cache when they
 * are few. */
static double by_device(const struct origin_bytes *b)
{
    const double ratio = b->device / b->asked;

    return b->medium == MEDIUM_DISK && ratio <= ORIGIN_CACHE_RATIO ? ratio : NAN;
}

double origin_ratio(const struct origin_bytes *b)
{
    if (!(b->asked > 0))
        return NAN;
    if (b->medium == MEDIUM_MEMORY)
        return 0;
    if (b->medium == MEDIUM_UNACCOUNTED)
        return NAN;
    if (isnan(b->process))
        return by_device(b);
    if (b->medium == MEDIUM_REMOTE && b->process / b->asked <= ORIGIN_CACHE_RATIO)
        return NAN;
    return fmin(1, b->process / b->asked);
}

enum origin origin_find(const struct origin_bytes *b)
{
    const double ratio = origin_ratio(b);

    if (isnan(ratio))
        return ORIGIN_UNKNOWN;
    return ratio >= ORIGIN_DISK_RATIO    ? ORIGIN_DISK
           : ratio <= ORIGIN_CACHE_RATIO ? ORIGIN_CACHE
                                         : ORIGIN_MIXED;
}

const char *origin_name(enum origin o)
{
    static const char *const names[] = {"unknown", "disk", "cache", "mixed"};

    return names[o];
}

static void add_bytes(double bytes, struct str *out)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t i = 0;

    for (; bytes >= 1024 && i < 5; i++)
        bytes /= 1024;
    str_printf(out, i ? "%.1f %s" : "%.0f %s", bytes, units[i]);
}

static void add_why_unknown(const struct origin_bytes *b, struct str *out)
{
    if (!(b->asked > 0))
        str_add(out, "no bytes were asked for");
    else if (b->medium == MEDIUM_REMOTE)
        str_add(out, "origin unknown: on a file system over the network or of FUSE the kernel does "
                     "not count what storage delivers");
    else if (b->medium == MEDIUM_UNACCOUNTED)
        str_add(out, "origin unknown: ZFS counts what its own cache delivers as read from storage");
    else
        str_add(out, "origin unknown: the kernel does not say what storage delivered");
}

void origin_add_words(const struct origin_bytes *b, struct str *out)
{
    static const char *const begins[] = {"", "from disk", "from cache", "mixed"};
    const enum origin o = origin_find(b);

    if (o == ORIGIN_UNKNOWN) {
        add_why_unknown(b, out);
        return;
    }
    if (b->medium == MEDIUM_MEMORY) {
        str_add(out, "from memory: the data set lies on a file system without storage");
        return;
    }
    str_printf(out, "%s: storage delivered ", begins[o]);
    add_bytes(isnan(b->process) ? b->device : b->process, out);
    str_add(out, " of the ");
    add_bytes(b->asked, out);
    str_printf(out, " asked for (%.0f %%)", 100 * origin_ratio(b));
}
