/** The faults injected into the calls of a toolset. */
import type { Toolset } from "../core/toolset.ts";
import { faultPolicy, type FaultPolicy } from "../policy/faults/fault.ts";

const POLICIES = new WeakMap<Toolset, FaultPolicy>();

/** The fault policy of a toolset; undefined if it has none. @throws ToolError `invalid_argument` for an invalid plan */
export function getFaultPolicy(toolset: Toolset): FaultPolicy | undefined {
  const { faults, engine, name } = toolset;
  if (faults === undefined) return undefined;
  let policy = POLICIES.get(toolset);
  if (policy === undefined) {
    policy = faultPolicy(faults, { otherTypes: engine?.kind === "search", owner: `toolset ${JSON.stringify(name)}` });
    POLICIES.set(toolset, policy);
  }
  return policy;
}
