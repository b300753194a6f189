/** The keys, refusals, calls and keyed requests of a test's own store: there are none. */
import type { AccessStore } from "../../src/core/store/access-store.ts";

export const noAccess: AccessStore = {
  addKey: async () => {},
  key: async () => undefined,
  keys: async () => [],
  revokeKey: async () => false,
  addRefusals: async () => {},
  refusals: async () => [],
  addCalls: async () => {},
  calls: async () => ({ calls: [] }),
  beginRequest: async () => undefined,
  holdRequest: async () => true,
  releaseRequest: async () => {},
  answerRequest: async () => undefined,
  forgetRequests: async () => {},
};
