"use strict";

const assert = require("node:assert");
const { test } = require("node:test");
const { formatBytes } = require("./bytes.js");

test("gigabytes", () => {
  assert.strictEqual(formatBytes(3221225472), "3.0 GB");
  assert.strictEqual(formatBytes(1099511627776), "1024.0 GB");
});

test("smaller sizes", () => {
  assert.strictEqual(formatBytes(12), "12 B");
  assert.strictEqual(formatBytes(1536), "1.5 KB");
  assert.strictEqual(formatBytes(1048576), "1.0 MB");
});

test("negative sizes", () => {
  assert.throws(() => formatBytes(-1), RangeError);
});
