#include <stdio.h>

#include "ring.h"

static int n_failed = 0;

static void check(int holds, const char *what) {
  if (!holds) {
    printf("FAILED: %s\n", what);
    n_failed++;
  }
}

int main(void) {
  Ring ring;
  int value = 0;
  ring_init(&ring);
  check(!ring_take(&ring, &value), "an empty ring gives nothing");
  for (int i = 1; i <= RING_CAPACITY; i++) {
    check(ring_put(&ring, i), "the ring takes as many values as its capacity");
  }
  check(!ring_put(&ring, 99), "a full ring takes no more");
  for (int i = 1; i <= RING_CAPACITY; i++) {
    check(ring_take(&ring, &value) && value == i, "the oldest value comes first");
  }
  check(ring_put(&ring, 7) && ring_take(&ring, &value) && value == 7, "it goes round");
  printf("%d failed\n", n_failed);
  return n_failed > 0;
}
