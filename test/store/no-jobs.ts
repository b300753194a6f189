/** The rows of jobs of a test's own store: there are none. */
import type { JobStore } from "../../src/core/job-store.ts";

export const noJobs: JobStore = {
  list: async () => [],
  requestCancel: async () => false,
  cancelRequests: async () => [],
  prune: async () => 0,
};
