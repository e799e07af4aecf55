#include "cli/run_killed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "cli/run_folder.h"
#include "train/loop.h"

static int is_running(const cJSON *doc)
{
    const char *const status =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "status"));

    return status && strcmp(status, train_status_name(TRAIN_RUNNING)) == 0;
}

/* In place of the member of that name. */
static void put_member(cJSON *doc, cJSON *item)
{
    char *const name = xstrdup(item->string);

    cJSON_DeleteItemFromObjectCaseSensitive(doc, name);
    if (!cJSON_AddItemToObject(doc, name, item))
        out_of_memory(0);
    free(name);
}

static void add_members(cJSON *doc, const char *members)
{
    struct str text = STR_INIT;
    cJSON *more, *item;

    str_printf(&text, "{\"status\": \"killed\"%s}", members);
    more = json_parse(text.s, text.len, NULL);
    while ((item = cJSON_DetachItemFromArray(more, 0)))
        put_member(doc, item);
    cJSON_Delete(more);
    str_release(&text);
}

static int write_json(const char *dir, const cJSON *doc)
{
    char *const text = cJSON_Print(doc), *const path = file_join(dir, "result.json");
    int rc;

    if (!text)
        out_of_memory(0);
    rc = file_replace(path, text, strlen(text));
    cJSON_free(text);
    free(path);
    return rc;
}

/* Nobody is at work in the folder while the lock is held. */
int run_mark_killed(const char *dir, const char *members)
{
    cJSON *doc = NULL;
    int lock, rc = 0;

    if (run_folder_lock(dir, &lock) < 0)
        return 0;
    if (run_folder_read_json(dir, "result.json", &doc) == 0 && is_running(doc)) {
        add_members(doc, members);
        rc = write_json(dir, doc);
    }
    cJSON_Delete(doc);
    close(lock);
    return rc;
}
