/* The page of what a command has just left: what a person looks at first. */
#ifndef STAVE_CLI_PAGE_H
#define STAVE_CLI_PAGE_H

/* Writes DIR/report.html; a failure is a warning, as the folder holds all that the page shows. */
void page_write(const char *dir);

#endif
