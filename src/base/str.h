/* A growing string. STR_INIT is always safe to release; s is never NULL after the first append and
 * always ends in a zero byte that len does not count. The owner releases it; str_detach hands the
 * heap string over. */
#ifndef STAVE_BASE_STR_H
#define STAVE_BASE_STR_H

#include <stdarg.h>
#include <stddef.h>

struct str {
    char *s;
    size_t len, cap;
};

/* clang-format off */
#define STR_INIT { 0 }
/* clang-format on */

void str_release(struct str *b);
void str_reset(struct str *b); /* empties, keeps the memory */
void str_add(struct str *b, const char *s);
void str_add_bytes(struct str *b, const void *bytes, size_t n);
void str_printf(struct str *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(struct str *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Appends the fewest digits, six or more, that read back as the same number. */
void str_add_real(struct str *b, double v);
/* Appends s as a JSON string with its quotes. Bytes that are not UTF-8 become \u00XX, so any file
 * name survives; so do C1 controls, and U+2028 and U+2029 are escaped, which end lines in YAML. */
void str_add_json(struct str *b, const char *s);
/* Appends s so that it can not steer a terminal: control characters (C0, DEL, C1, U+2028, U+2029)
 * and bytes that are not UTF-8 become \xNN, a line's end as well. */
void str_add_printable(struct str *b, const char *s);
char *str_detach(struct str *b);

#endif
