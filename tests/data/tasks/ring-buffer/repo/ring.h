#ifndef RING_H
#define RING_H

#define RING_CAPACITY 4

typedef struct {
  int values[RING_CAPACITY];
  int first; /* place of the oldest value */
  int count; /* how many values there are */
} Ring;

void ring_init(Ring *ring);

/* Adds a value; returns 0 if the ring is full. */
int ring_put(Ring *ring, int value);

/* Takes the oldest value; returns 0 if the ring is empty. */
int ring_take(Ring *ring, int *value);

#endif
