"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { JobQueue } = require("./queue.js");

test("first in, first out", () => {
  const queue = new JobQueue();
  queue.add("a");
  queue.add("b");
  assert.strictEqual(queue.next(), "a");
  queue.add("c");
  assert.strictEqual(queue.next(), "b");
  assert.strictEqual(queue.size, 1);
});

test("an empty queue", () => {
  assert.strictEqual(new JobQueue().next(), undefined);
});
