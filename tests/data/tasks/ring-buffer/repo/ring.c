#include "ring.h"

void ring_init(Ring *ring) {
  ring->first = 0;
  ring->count = 0;
}

int ring_put(Ring *ring, int value) {
  if (ring->count == RING_CAPACITY - 1) {
    return 0;
  }
  ring->values[(ring->first + ring->count) % RING_CAPACITY] = value;
  ring->count++;
  return 1;
}

int ring_take(Ring *ring, int *value) {
  if (ring->count == 0) {
    return 0;
  }
  *value = ring->values[ring->first];
  ring->first = (ring->first + 1) % RING_CAPACITY;
  ring->count--;
  return 1;
}
