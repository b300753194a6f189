/** The parts of the runtime that the calls of a simulation use: everything that would remember them is their own. */
import { createHash } from "node:crypto";
import { nameMatcher } from "../policy/permission.ts";
import type { CallParts } from "../call/call-run.ts";
import { NO_SIDE_EFFECTS, type SideEffects, type SimulationMode } from "../session/simulation-mode.ts";

/** Longer ids of branches are made short in the ids of their calls, which could not be read back else. */
const MAX_NAME_LENGTH = 256;

/**
 * The parts for one branch: listeners get no events of its calls, nothing counts them, and they take no ids and no chance from others.
 *
 * @param branchName is in the ids of its calls: no other branch that is committed to the same session has it
 */
export function simulationParts(parts: CallParts, branchName: string, simulation: SimulationMode): CallParts {
  const hooks = [...parts.beforeHooks, ...parts.afterHooks];
  const name = branchName.length <= MAX_NAME_LENGTH ? branchName : createHash("sha256").update(branchName).digest("hex");
  let ids = 0;
  return {
    ...parts,
    ports: {
      ...parts.ports,
      // A service knows a request by the key that is made of its call's id: one that happens for real needs an id like any other.
      ids: simulation.mayBeReal ? parts.ports.ids : { next: (prefix) => `${prefix}_${name}_${++ids}` },
      random: { next: () => 0.5 },
    },
    counters: { calls: 0, succeeded: 0, attempts: 0, repairs: 0, orphans: 0, abandoned: 0 },
    beforeHooks: parts.beforeHooks.filter((hook) => hook.inSimulation === "run"),
    afterHooks: parts.afterHooks.filter((hook) => hook.inSimulation === "run"),
    undecidedHook: hooks.find((hook) => hook.inSimulation !== "run" && hook.inSimulation !== "skip")?.name,
    listening: false,
    emit: () => {},
  };
}

/** The name of a branch in the ids of its calls. An id that was given may be that of an earlier branch, which was committed. */
export function branchName({ length }: { readonly length: number }, id: string, { id: given }: { readonly id?: string }): string {
  return given === undefined ? id : `${id}~${length}`;
}

/** From the option `allowSideEffects` to the question whether a tool's calls may happen for real. @throws ToolError `invalid_argument` */
export function sideEffects(allowed: boolean | readonly string[]): SideEffects {
  if (allowed === true) return () => true;
  if (allowed === false || allowed.length === 0) return NO_SIDE_EFFECTS;
  const matches = nameMatcher(allowed, "allowSideEffects");
  return (qualifiedName) => matches(qualifiedName) !== undefined;
}
