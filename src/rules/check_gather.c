/* Records that make one: Stable Diffusion logs FID and CLIP in two, which belong together by the
 * step or the number of samples in their metadata. */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "rules/check_int.h"

enum { MAX_GROUPS = 4096 };

static struct gather_group *group_of(struct rule_check *c, const cJSON *by,
                                     const struct mllog_record *r)
{
    struct gather_group *g;

    for (size_t i = 0; i < c->n_groups; i++)
        if (rule_equal(c->groups[i].by, by))
            return &c->groups[i];
    if (c->n_groups == MAX_GROUPS)
        return NULL;
    if ((c->n_groups & (c->n_groups - 1)) == 0)
        c->groups = xrealloc(c->groups, (c->n_groups ? 2 * c->n_groups : 1) * sizeof(*c->groups));
    g = &c->groups[c->n_groups++];
    *g = (struct gather_group){cJSON_Duplicate(by, 1), cJSON_CreateObject(), r->line, r->column};
    return g;
}

/* Which key a finding about the gathering belongs to. */
static const struct rule_key *into_key(const struct rule_sheet *s)
{
    for (size_t i = 0; i < s->n_keys; i++)
        if (strcmp(s->keys[i].name, s->gather.into) == 0)
            return &s->keys[i];
    return NULL;
}

static void complain(struct rule_check *c, const struct rule_sheet *s, const struct mllog_record *r,
                     const char *expected)
{
    const struct rule_key *const key = into_key(s);

    if (key)
        check_find(c, key,
                   &(struct held_finding){.severity = RULE_ERROR,
                                          .name = "not-gathered",
                                          .line = r->line,
                                          .column = r->column,
                                          .found = (char[]){"a part of a result"},
                                          .expected = (char *)(uintptr_t)expected,
                                          .stays = 1});
}

static void gather(struct rule_check *c, const struct rule_sheet *s, const struct mllog_record *r)
{
    const cJSON *const member = mllog_member(r->metadata, s->gather.member);
    const cJSON *const by = mllog_member(r->metadata, s->gather.by);
    struct gather_group *g;

    if (!member)
        return;
    if (!by || cJSON_IsObject(by) || cJSON_IsArray(by) || !cJSON_IsString(member)) {
        complain(c, s, r, "metadata that says which result it belongs to");
        return;
    }
    g = group_of(c, by, r);
    if (!g) {
        complain(c, s, r, "less than 4096 evaluations");
        return;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(g->value, member->valuestring);
    cJSON_AddItemToObject(g->value, member->valuestring, cJSON_Duplicate(r->value, 1));
}

void check_gather(struct rule_check *c, const struct mllog_record *r)
{
    for (size_t i = 0; i < c->r->n_sheets; i++) {
        const struct rule_sheet *const s = &c->r->sheets[i];

        if (s->gather.from && strcmp(s->gather.from, r->key) == 0 && !check_is_dead(c, (int)i)) {
            gather(c, s, r);
            return; /* the closed and the open sheet gather alike */
        }
    }
}

int check_gathered(struct rule_check *c, size_t i, const struct rule_sheet *s,
                   struct mllog_record *out)
{
    static const cJSON empty_object = {.type = cJSON_Object};
    const struct gather_group *const g = i < c->n_groups ? &c->groups[i] : NULL;

    if (!g)
        return 0;
    if (!mllog_member(g->value, s->gather.by))
        cJSON_AddItemToObject(g->value, s->gather.by, cJSON_Duplicate(g->by, 1));
    *out = (struct mllog_record){.key = s->gather.into,
                                 .type = "",
                                 .value = g->value,
                                 .metadata = &empty_object,
                                 .benchmark = "",
                                 .line = g->line,
                                 .column = g->column};
    return 1;
}
