#ifndef TRIM_H
#define TRIM_H

/* Cuts blanks and tabs at both ends of a text, in place; returns the text. */
char *trim(char *text);

#endif
