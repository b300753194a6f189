/** The rows of jobs, and the feed, of a test's own store: there are none. */
import type { JobStore } from "../../src/core/store/job-store.ts";
import type { StoreFeed } from "../../src/core/store/store-feed.ts";

export const noJobs: JobStore = {
  list: async () => [],
  requestCancel: async () => false,
  cancelRequests: async () => [],
  unattended: async () => [],
  prune: async () => 0,
};

export const noFeed: StoreFeed = { latest: async () => "0", read: async () => ({ entries: [], isFull: false }) };
