#ifndef VOWELS_H
#define VOWELS_H

/* How many vowels a text has, capital letters included. */
int count_vowels(const char *text);

#endif
