#include "vowels.h"

#include <string.h>

int count_vowels(const char *text) {
  int count = 0;
  for (; *text != '\0'; text++) {
    if (strchr("aeiou", *text) != NULL) {
      count++;
    }
  }
  return count;
}
