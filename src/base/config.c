#include "base/config.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/err.h"
#include "base/file.h"
#include "base/opt.h"

struct seen {
    char *key;
    size_t line;
};

struct reader {
    yaml_parser_t parser;
    const char *path;
    struct seen seen[CONFIG_MAX_KEYS];
    size_t n_seen;
};

static size_t line_of(const yaml_event_t *e)
{
    return e->start_mark.line + 1;
}

static int malformed(const struct reader *r)
{
    const yaml_parser_t *p = &r->parser;

    if (p->error == YAML_MEMORY_ERROR)
        return err(E_NOMEM, "%s: out of memory in the YAML parser", r->path);
    const size_t line = p->error == YAML_READER_ERROR ? p->mark.line : p->problem_mark.line;

    return err(E_USAGE, "%s:%zu: this is no YAML: %s; expected lines of the form name: value",
               r->path, line + 1, p->problem ? p->problem : "unreadable");
}

static int refuse(const struct reader *r, const yaml_event_t *e, const char *what)
{
    return err(E_USAGE, "%s:%zu: %s; expected lines of the form name: value", r->path, line_of(e),
               what);
}

/* Only plain text may stand as a key or a value. */
static int check_scalar(const struct reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        break;
    case YAML_ALIAS_EVENT:
        return refuse(r, e, "an alias (*name) is not taken here");
    case YAML_SEQUENCE_START_EVENT:
        return refuse(r, e, "a list is not taken here");
    default:
        return refuse(r, e, "a section inside another is not taken here");
    }
    if (e->data.scalar.anchor)
        return refuse(r, e, "an anchor (&name) is not taken here");
    if (e->data.scalar.tag)
        return refuse(r, e, "a tag (!name) is not taken here");
    if (strlen((const char *)e->data.scalar.value) != e->data.scalar.length)
        return refuse(r, e, "a zero byte is not taken here");
    return 0;
}

static int remember(struct reader *r, const char *key, size_t line)
{
    for (size_t i = 0; i < r->n_seen; i++)
        if (opt_same_name(r->seen[i].key, key))
            return err(E_USAGE, "%s:%zu: %.100s is already set in line %zu; keep one of the two",
                       r->path, line, key, r->seen[i].line);
    if (r->n_seen == CONFIG_MAX_KEYS)
        return err(E_USAGE, "%s:%zu: more than %d settings", r->path, line, CONFIG_MAX_KEYS);
    r->seen[r->n_seen++] = (struct seen){.key = xstrdup(key), .line = line};
    return 0;
}

static int is_missing(const yaml_event_t *value)
{
    const char *s = (const char *)value->data.scalar.value;

    return value->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!*s || strcmp(s, "~") == 0 || strcmp(s, "null") == 0);
}

static int take_value(struct reader *r, const yaml_event_t *key, const yaml_event_t *value)
{
    TRY(check_scalar(r, value));
    if (is_missing(value))
        return err(E_USAGE, "%s:%zu: %.100s has no value; write one or remove the line", r->path,
                   line_of(key), (const char *)key->data.scalar.value);
    return remember(r, (const char *)key->data.scalar.value, line_of(key));
}

static int take_pair(struct reader *r, const yaml_event_t *key, config_set *set, void *context)
{
    yaml_event_t value;
    char *where;
    int rc;

    TRY(check_scalar(r, key));
    if (!yaml_parser_parse(&r->parser, &value))
        return malformed(r);
    rc = take_value(r, key, &value);
    where = xasprintf("%s:%zu", r->path, line_of(key));
    if (rc == 0)
        rc = set(context, (const char *)key->data.scalar.value,
                 (const char *)value.data.scalar.value, where);
    free(where);
    yaml_event_delete(&value);
    return rc < 0 ? rc : 0;
}

enum place { OUTSIDE, IN_DOCUMENT, IN_MAPPING, AFTER };

/* One event; moves *place. Text at the top of an empty document counts as no mapping at all. */
static int take_event(struct reader *r, const yaml_event_t *e, enum place *place)
{
    if (e->type == YAML_DOCUMENT_START_EVENT) {
        if (*place == AFTER)
            return refuse(r, e, "a second document is not taken here");
        *place = IN_DOCUMENT;
    } else if (*place == IN_DOCUMENT && e->type == YAML_MAPPING_START_EVENT) {
        if (e->data.mapping_start.anchor || e->data.mapping_start.tag)
            return refuse(r, e, "an anchor (&name) or a tag (!name) is not taken here");
        *place = IN_MAPPING;
    } else if (e->type == YAML_MAPPING_END_EVENT || e->type == YAML_DOCUMENT_END_EVENT) {
        *place = AFTER;
    } else if (*place == IN_DOCUMENT) {
        const int blank = e->type == YAML_SCALAR_EVENT && e->data.scalar.length == 0;
        return blank ? 0 : refuse(r, e, "this is no setting");
    }
    return 0;
}

static int read_all(struct reader *r, config_set *set, void *context)
{
    enum place place = OUTSIDE;
    int rc = 0, ended = 0;

    while (rc == 0 && !ended) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e))
            return malformed(r);
        ended = e.type == YAML_STREAM_END_EVENT;
        if (place == IN_MAPPING && e.type != YAML_MAPPING_END_EVENT)
            rc = take_pair(r, &e, set, context);
        else
            rc = take_event(r, &e, &place);
        yaml_event_delete(&e);
    }
    return rc;
}

int config_load(const char *path, config_set *set, void *context)
{
    struct reader *r;
    char *bytes;
    size_t n;
    int rc;

    TRY(file_read(path, CONFIG_MAX_BYTES, &bytes, &n));
    r = xcalloc(1, sizeof(*r));
    r->path = path;
    if (!yaml_parser_initialize(&r->parser))
        rc = err(E_NOMEM, "%s: out of memory in the YAML parser", path);
    else {
        yaml_parser_set_input_string(&r->parser, (const unsigned char *)bytes, n);
        rc = read_all(r, set, context);
        yaml_parser_delete(&r->parser);
    }
    for (size_t i = 0; i < r->n_seen; i++)
        free(r->seen[i].key);
    free(r);
    free(bytes);
    return rc;
}
