#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* A space at which no line breaks: between a number and its unit. */
#define NB "\xc2\xa0"

void text_add(struct str *out, const char *s)
{
    struct str plain = STR_INIT;

    str_add_printable(&plain, s ? s : "");
    str_add(out, "");
    for (const char *p = plain.s ? plain.s : ""; *p; p++)
        switch (*p) {
        case '&':
            str_add(out, "&amp;");
            break;
        case '<':
            str_add(out, "&lt;");
            break;
        case '>':
            str_add(out, "&gt;");
            break;
        case '"':
            str_add(out, "&quot;");
            break;
        case '\'':
            str_add(out, "&#39;");
            break;
        default:
            str_add_bytes(out, p, 1);
        }
    str_release(&plain);
}

void text_add_script_json(struct str *out, const char *json)
{
    for (const char *p = json; *p;) {
        const size_t n = strcspn(p, "<>&");

        str_add_bytes(out, p, n);
        p += n;
        if (*p)
            str_printf(out, "\\u%04x", (unsigned char)*p++);
    }
}

static void add_grouped(struct str *out, const char *digits)
{
    const size_t sign = *digits == '-', n = strlen(digits) - sign;

    str_add(out, sign ? "−" : "");
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            str_add(out, ",");
        str_add_bytes(out, digits + sign + i, 1);
    }
}

void text_add_number(struct str *out, double v)
{
    char digits[32];

    if (!isfinite(v))
        str_add(out, "–");
    else if (fabs(v) >= 1e15 || (v != 0 && fabs(v) < 1e-4))
        str_printf(out, "%.3g", v);
    else if (fabs(v) < 100) {
        str_printf(out, "%s%.3g", v < 0 ? "−" : "", fabs(v));
    } else {
        snprintf(digits, sizeof(digits), "%.0f", v);
        add_grouped(out, digits);
    }
}

void text_add_seconds(struct str *out, double s)
{
    const double whole = rint(s);

    if (!isfinite(s) || s < 0 || s > 1e12)
        text_add_number(out, s);
    else if (s < 1)
        str_printf(out, "%.3g" NB "ms", s * 1e3);
    else if (s < 99.95)
        str_printf(out, "%.3g" NB "s", s);
    else if (whole < 3600)
        str_printf(out, "%.0f" NB "min %.0f" NB "s", floor(whole / 60), fmod(whole, 60));
    else if (whole < 2 * 86400)
        str_printf(out, "%.0f" NB "h %.0f" NB "min", floor(whole / 3600),
                   floor(fmod(whole, 3600) / 60));
    else
        str_printf(out, "%.0f" NB "d %.0f" NB "h", floor(whole / 86400),
                   floor(fmod(whole, 86400) / 3600));
}

void text_add_bytes(struct str *out, double n)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t i = 0;

    if (!isfinite(n)) {
        text_add_number(out, n);
        return;
    }
    for (; fabs(n) >= 999.5 && i + 1 < COUNT_OF(units); i++)
        n /= 1000;
    text_add_number(out, n);
    str_printf(out, NB "%s", units[i]);
}

void text_add_percent(struct str *out, double ratio)
{
    if (!isfinite(ratio))
        str_add(out, "–");
    else if (fabs(ratio) < 1e6)
        str_printf(out, "%s%.*f" NB "%%", ratio < 0 ? "−" : "", fabs(ratio) < 0.9995 ? 1 : 0,
                   100 * fabs(ratio));
    else
        str_printf(out, "%.3g" NB "%%", 100 * ratio);
}

/* ---- units at the end of names ---- */

static const struct unit {
    const char *end, *word;
} units[] = {
    {"_bytes_per_s", "B/s"}, {"_per_s", "per s"}, {"_percent", "%"}, {"_bytes", "B"},
    {"_seconds", "s"},       {"_ratio", "ratio"}, {"_mhz", "MHz"},   {"_ms", "ms"},
    {"_ns", "ns"},           {"_w", "W"},         {"_s", "s"},
};

static const struct unit *unit_of(const char *name)
{
    const size_t n = strlen(name);

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        const size_t k = strlen(units[i].end);

        if (n > k && strcmp(name + n - k, units[i].end) == 0)
            return &units[i];
    }
    return NULL;
}

void text_add_by_unit(struct str *out, const char *name, double v)
{
    const struct unit *const u = unit_of(name);
    const char *const word = u ? u->word : "";

    if (!isfinite(v))
        str_add(out, "–");
    else if (strcmp(word, "B") == 0 || strcmp(word, "B/s") == 0) {
        text_add_bytes(out, v);
        str_add(out, word + 1);
    } else if (strcmp(word, "ratio") == 0)
        text_add_percent(out, v);
    else if (strcmp(word, "ns") == 0)
        text_add_seconds(out, v / 1e9);
    else if (strcmp(word, "s") == 0)
        text_add_seconds(out, v);
    else {
        text_add_number(out, v);
        str_printf(out, *word ? NB "%s" : "%s", word);
    }
}

void text_add_label(struct str *out, const char *column, const char **unit)
{
    const struct unit *const u = unit_of(column);
    const size_t n = strlen(column) - (u ? strlen(u->end) : 0);
    char *const words = xasprintf("%.*s", (int)n, column);

    for (char *p = words; *p; p++)
        if (*p == '_')
            *p = ' ';
    str_add(out, words);
    *unit = u ? u->word : "";
    if (strcmp(*unit, "B/s") == 0)
        str_add(out, " rate"); /* beside a total of the same name */
    free(words);
}
