"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { ranking, placeOf } = require("./ranking.js");

test("the highest score is first", () => {
  assert.deepStrictEqual(ranking([5, 40, 100]), [100, 40, 5]);
  assert.deepStrictEqual(ranking([9, 10]), [10, 9]);
});

test("the array stays as it is", () => {
  const scores = [1, 2];
  ranking(scores);
  assert.deepStrictEqual(scores, [1, 2]);
});

test("places", () => {
  assert.strictEqual(placeOf(40, [5, 40, 100, 40]), 2);
});
