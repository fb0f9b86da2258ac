"use strict";

/** The scores, the highest first; the array that is given stays as it is. */
function ranking(scores) {
  return [...scores].sort().reverse();
}

/** The place of a score, from 1; equal scores share a place. */
function placeOf(score, scores) {
  return scores.filter((other) => other > score).length + 1;
}

module.exports = { ranking, placeOf };
