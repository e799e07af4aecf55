#include "rules/rule_eval.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

int rule_number(const cJSON *item, double *out)
{
    if (cJSON_IsNumber(item))
        *out = item->valuedouble;
    else if (cJSON_IsBool(item))
        *out = cJSON_IsTrue(item);
    else
        return 0;
    return 1;
}

static int equal_lists(const cJSON *a, const cJSON *b)
{
    const cJSON *x = a->child, *y = b->child;

    for (; x && y; x = x->next, y = y->next)
        if (!rule_equal(x, y))
            return 0;
    return !x && !y;
}

static int covers(const cJSON *a, const cJSON *b)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, a)
    {
        const cJSON *const other = mllog_member(b, item->string);

        if (!other || !rule_equal(mllog_member(a, item->string), other))
            return 0;
    }
    return 1;
}

int rule_equal(const cJSON *a, const cJSON *b)
{
    double x, y;

    if (rule_number(a, &x))
        return rule_number(b, &y) && (x == y || (isnan(x) && isnan(y)));
    if (cJSON_IsString(a))
        return cJSON_IsString(b) && strcmp(a->valuestring, b->valuestring) == 0;
    if (cJSON_IsArray(a))
        return cJSON_IsArray(b) && equal_lists(a, b);
    if (cJSON_IsObject(a))
        return cJSON_IsObject(b) && covers(a, b) && covers(b, a);
    return cJSON_IsNull(a) && cJSON_IsNull(b);
}

static int is_value(const cJSON *item, const struct rule_value *v)
{
    double x;

    if (v->text)
        return cJSON_IsString(item) && strcmp(item->valuestring, v->text) == 0;
    return rule_number(item, &x) && x == v->number;
}

/* 'NAME' in item. */
static enum rule_outcome has_name(const cJSON *item, const char *name)
{
    const cJSON *part;

    if (cJSON_IsObject(item))
        return mllog_member(item, name) ? RULE_PASSES : RULE_FAILS;
    if (cJSON_IsString(item))
        return strstr(item->valuestring, name) ? RULE_PASSES : RULE_FAILS;
    if (!cJSON_IsArray(item))
        return RULE_RAISES;
    cJSON_ArrayForEach(part, item) if (cJSON_IsString(part) &&
                                       strcmp(part->valuestring, name) == 0) return RULE_PASSES;
    return RULE_FAILS;
}

static enum rule_outcome has_any(const cJSON *item, const struct rule_test *t)
{
    enum rule_outcome found = RULE_FAILS;

    for (size_t i = 0; i < t->n_values && found == RULE_FAILS; i++)
        found = has_name(item, t->values[i].text);
    return found;
}

static enum rule_outcome as_outcome(int holds)
{
    return holds ? RULE_PASSES : RULE_FAILS;
}

static enum rule_outcome is_whole_part(double x)
{
    if (!isfinite(x))
        return RULE_RAISES;
    return as_outcome(fabs(round(x) - x) < 0.00001);
}

static enum rule_outcome compare(const struct rule_test *t, double x)
{
    switch (t->op) {
    case RULE_GREATER:
        return as_outcome(x > t->number);
    case RULE_AT_LEAST:
        return as_outcome(x >= t->number);
    case RULE_LESS:
        return as_outcome(x < t->number);
    case RULE_AT_MOST:
        return as_outcome(x <= t->number);
    case RULE_MULTIPLE:
        return is_whole_part(x / t->number);
    case RULE_DIVIDES:
        return x == 0 ? RULE_RAISES : is_whole_part(t->number / x);
    case RULE_POWER_OF_TWO:
        return x > 0 ? is_whole_part(log2(x / t->number)) : RULE_RAISES;
    case RULE_WHOLE:
        return as_outcome(x >= 0 && x == round(x));
    default:
        BUG("no comparison: %d", (int)t->op);
    }
}

static int is_written_as_integer(const struct rule_seen *seen, const cJSON *item)
{
    if (cJSON_IsBool(item))
        return 1;
    if (!cJSON_IsNumber(item))
        return 0;
    for (size_t i = 0; i < seen->n_value; i++)
        if (strchr(".eEIN", seen->value_text[i]))
            return 0;
    return 1;
}

static enum rule_outcome eval_item(const struct rule_test *t, const struct rule_seen *seen,
                                   const cJSON *item)
{
    double x;

    switch (t->op) {
    case RULE_NOT_EMPTY:
        return as_outcome(!cJSON_IsString(item) || item->valuestring[0]);
    case RULE_EQUALS:
    case RULE_ONE_OF:
        for (size_t i = 0; i < t->n_values; i++)
            if (is_value(item, &t->values[i]))
                return RULE_PASSES;
        return RULE_FAILS;
    case RULE_IS_BOOLEAN:
        return as_outcome(cJSON_IsBool(item));
    case RULE_IS_INTEGER:
        return as_outcome(is_written_as_integer(seen, item));
    case RULE_HAS:
        return has_any(item, t);
    default:
        return rule_number(item, &x) ? compare(t, x) : RULE_RAISES;
    }
}

/* What the test is about; NULL: nothing there. *number holds what no record does: a count, a name.
 */
static const cJSON *subject_of(const struct rule_test *t, const struct rule_seen *seen,
                               cJSON *number)
{
    *number = (cJSON){.type = cJSON_Number};
    switch (t->subject) {
    case RULE_OF_VALUE:
        return seen->value;
    case RULE_OF_MEMBER:
        return mllog_member(seen->value, t->name);
    case RULE_OF_ITEM:
        return cJSON_IsArray(seen->value) ? cJSON_GetArrayItem(seen->value, t->item - 1) : NULL;
    case RULE_OF_META:
        return mllog_member(seen->metadata, t->name);
    case RULE_OF_LENGTH:
        if (cJSON_IsString(seen->value))
            number->valuedouble = (double)strlen(seen->value->valuestring);
        else
            number->valuedouble = cJSON_GetArraySize(seen->value);
        return cJSON_IsString(seen->value) || cJSON_IsArray(seen->value) ||
                       cJSON_IsObject(seen->value)
                   ? number
                   : NULL;
    case RULE_OF_BENCHMARK:
        *number = (cJSON){.type = cJSON_String, .valuestring = (char *)(uintptr_t)seen->benchmark};
        return number;
    }
    BUG("no such subject: %d", (int)t->subject);
}

/* Whether the test is to be made at all. */
static enum rule_outcome condition(const struct rule_test *t, const struct rule_seen *seen)
{
    double batch;

    if (t->when == RULE_ALWAYS)
        return RULE_PASSES;
    if (t->when == RULE_WHEN_META)
        return has_name(seen->metadata, t->when_name);
    if (!seen->batch || !rule_number(seen->batch, &batch))
        return RULE_RAISES;
    return as_outcome(t->when == RULE_BATCH_BELOW ? batch < t->when_batch : batch >= t->when_batch);
}

static enum rule_outcome eval_one(const struct rule_test *t, const struct rule_seen *seen)
{
    cJSON number;
    const cJSON *item;

    if (t->op == RULE_WITH)
        return has_any(seen->metadata, t);
    item = subject_of(t, seen, &number);
    if (!item)
        return t->if_there ? RULE_PASSES : RULE_RAISES;
    return eval_item(t, seen, item);
}

enum rule_outcome rule_eval(const struct rule_test *t, const struct rule_seen *seen)
{
    enum rule_outcome now = condition(t, seen);

    if (now == RULE_FAILS)
        return RULE_PASSES;
    if (now == RULE_PASSES)
        now = eval_one(t, seen);
    for (t = t->or_else; t && now == RULE_FAILS; t = t->or_else) {
        now = condition(t, seen);
        if (now == RULE_PASSES)
            now = eval_one(t, seen);
    }
    return now;
}
