/** Handler of the route for the processes that use the store. */
import { describeFleetDifferences } from "../../fleet-differences.ts";
import type { Handlers } from "../services.ts";
import { refuseSessionKey } from "../sessions/session-ids.ts";

export const fleetHandlers = {
  async getFleet({ principal }, { store }) {
    refuseSessionKey(principal);
    const processes = (await store?.processes()) ?? [];
    return {
      processes: processes.map(({ definitions: _definitions, ...shown }) => shown),
      differences: describeFleetDifferences(processes),
    };
  },
} satisfies Partial<Handlers>;
