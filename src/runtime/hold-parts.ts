/** The slots of a runtime, and the leases that the calls of its shared toolsets take in its store. */
import { LeaseLocks } from "../policy/lease-locks.ts";
import { LeaseSlots } from "../policy/lease-slots.ts";
import { ToolError } from "../core/error.ts";
import type { Ports } from "../core/ports.ts";
import type { Slots } from "../core/slots.ts";
import type { Toolset } from "../core/toolset.ts";
import { Limits } from "../policy/limits.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

export interface HoldParts {
  /** Undefined without a store. */
  readonly leases: LeaseLocks | undefined;
  /** The limits of a toolset and its tools. */
  slotsOf(toolset: Toolset): Slots;
}

/** @throws ToolError `invalid_argument` for a shared toolset without a store, which no other process could share */
export function makeHoldParts({ toolsets = [], store, slots = new Limits() }: RuntimeOptions, { clock, ids, log }: Ports): HoldParts {
  const unshared = toolsets.find((toolset) => toolset.shared === true);
  if (store === undefined && unshared !== undefined) {
    throw new ToolError("invalid_argument", `The toolset ${JSON.stringify(unshared.name)} is shared, and the runtime has no store.`, {
      operatorHint: "Give createRuntime the store of the processes that share it, or leave shared out.",
    });
  }
  if (store === undefined) return { leases: undefined, slotsOf: () => slots };
  const leases = new LeaseLocks({ leases: store.leases, clock, ids, log });
  const shared = new LeaseSlots(leases);
  return { leases, slotsOf: (toolset) => (toolset.shared === true ? shared : slots) };
}
