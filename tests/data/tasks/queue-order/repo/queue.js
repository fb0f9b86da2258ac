"use strict";

/** Jobs that wait, in the order in which they were added. */
class JobQueue {
  constructor() {
    this.jobs = [];
  }

  /** Add a job at the end. */
  add(job) {
    this.jobs.push(job);
  }

  /** Take out the job that has waited longest; undefined if there is none. */
  next() {
    return this.jobs.pop();
  }

  get size() {
    return this.jobs.length;
  }
}

module.exports = { JobQueue };
