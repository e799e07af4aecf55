#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hostile.h"

static void grow(struct str *b, size_t more)
{
    const size_t need = b->len + more + 1;

    if (need <= b->cap)
        return;
    b->cap = HOSTILE || need > 2 * b->cap ? need : 2 * b->cap;
    b->s = xrealloc(b->s, b->cap);
    b->s[b->len] = '\0';
}

void str_release(struct str *b)
{
    free(b->s);
    *b = (struct str)STR_INIT;
}

void str_reset(struct str *b)
{
    b->len = 0;
    if (b->s)
        b->s[0] = '\0';
}

void str_add_bytes(struct str *b, const void *bytes, size_t n)
{
    grow(b, n);
    if (n)
        memcpy(b->s + b->len, bytes, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void str_add(struct str *b, const char *s)
{
    str_add_bytes(b, s, strlen(s));
}

void str_add_real(struct str *b, double v)
{
    char text[40];

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    str_add(b, text);
}

void str_vprintf(struct str *b, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    ASSERT(n >= 0);
    grow(b, (size_t)n);
    vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again);
    b->len += (size_t)n;
    va_end(again);
}

void str_printf(struct str *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    str_vprintf(b, fmt, ap);
    va_end(ap);
}

/* The length of the well-formed UTF-8 sequence at s (no overlong forms, no surrogates), or 0. */
static size_t utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char lo, hi, mask, bits;
    } lead[] = {{0xC2, 0xDF, 0x1F, 1}, {0xE0, 0xEF, 0x0F, 2}, {0xF0, 0xF4, 0x07, 3}};

    for (size_t i = 0; i < COUNT_OF(lead); i++) {
        static const unsigned least[] = {0x80, 0x800, 0x10000};
        unsigned point = s[0] & lead[i].mask;

        if (s[0] < lead[i].lo || s[0] > lead[i].hi)
            continue;
        for (size_t k = 1; k <= lead[i].bits; k++) {
            if ((s[k] & 0xC0) != 0x80)
                return 0;
            point = point << 6 | (s[k] & 0x3F);
        }
        return point < least[i] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)
                   ? 0
                   : lead[i].bits + 1u;
    }
    return 0;
}

/* Characters of several bytes that break or steer lines: C1 controls (U+0085 among them), and the
 * separators U+2028 and U+2029. 0: s begins with none of them. */
static unsigned wide_control(const unsigned char *s)
{
    if (s[0] == 0xC2 && s[1] >= 0x80 && s[1] < 0xA0)
        return s[1];
    if (s[0] == 0xE2 && s[1] == 0x80 && (s[2] == 0xA8 || s[2] == 0xA9))
        return 0x2000u + (s[2] & 0x3Fu);
    return 0;
}

void str_add_json(struct str *b, const char *s)
{
    str_add(b, "\"");
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        const size_t n = *p < 0x80 ? 1 : utf8_length(p);

        if (*p == '"' || *p == '\\')
            str_printf(b, "\\%c", *p);
        else if (*p == '\n')
            str_add(b, "\\n");
        else if (*p < 0x20 || *p == 0x7F || n == 0)
            str_printf(b, "\\u%04x", *p);
        else {
            if (wide_control(p))
                str_printf(b, "\\u%04x", wide_control(p));
            else
                str_add_bytes(b, p, n);
            p += n - 1;
        }
    }
    str_add(b, "\"");
}

void str_add_printable(struct str *b, const char *s)
{
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        const size_t length = *p < 0x80 ? 1 : utf8_length(p), n = length ? length : 1;

        if (length && *p >= 0x20 && *p != 0x7F && !wide_control(p))
            str_add_bytes(b, p, n);
        else
            for (size_t i = 0; i < n; i++)
                str_printf(b, "\\x%02x", p[i]);
        p += n - 1;
    }
}

char *str_detach(struct str *b)
{
    char *s;

    grow(b, 0);
    s = b->s;
    *b = (struct str)STR_INIT;
    return s;
}
