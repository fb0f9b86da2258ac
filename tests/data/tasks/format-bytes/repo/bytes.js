"use strict";

const UNITS = ["B", "KB", "MB"];

/** A size with one digit behind the point, in the largest unit that it fills. */
function formatBytes(size) {
  if (size < 0) {
    throw new RangeError("a size cannot be negative");
  }
  let unit = 0;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${size} B` : `${size.toFixed(1)} ${UNITS[unit]}`;
}

module.exports = { formatBytes };
