#include <stdio.h>
#include <string.h>

#include "trim.h"

static int n_failed = 0;

static void expect(const char *given, const char *wanted) {
  char text[64];
  strcpy(text, given);
  trim(text);
  if (strcmp(text, wanted) != 0) {
    printf("FAILED: trim(\"%s\") is \"%s\", not \"%s\"\n", given, text, wanted);
    n_failed++;
  }
}

int main(void) {
  expect("  hello  ", "hello");
  expect("hello", "hello");
  expect("\thello world ", "hello world");
  expect("   ", "");
  expect("", "");
  expect("a", "a");
  printf("%d failed\n", n_failed);
  return n_failed > 0;
}
