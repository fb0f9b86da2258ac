#include <stdio.h>

#include "vowels.h"

static int n_failed = 0;

static void expect(const char *text, int wanted) {
  int count = count_vowels(text);
  if (count != wanted) {
    printf("FAILED: count_vowels(\"%s\") is %d, not %d\n", text, count, wanted);
    n_failed++;
  }
}

int main(void) {
  expect("Apple", 2);
  expect("AEIOU", 5);
  expect("rhythm", 0);
  expect("queue", 4);
  expect("", 0);
  printf("%d failed\n", n_failed);
  return n_failed > 0;
}
