#include "trim.h"

#include <string.h>

static int is_blank(char c) { return c == ' ' || c == '\t'; }

char *trim(char *text) {
  size_t start = 0;
  size_t end = strlen(text);
  while (is_blank(text[start])) {
    start++;
  }
  while (end > start + 1 && is_blank(text[end - 2])) {
    end--;
  }
  memmove(text, text + start, end - start);
  text[end - start] = '\0';
  return text;
}
