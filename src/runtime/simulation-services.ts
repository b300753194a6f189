/** The parts of the runtime that the calls of a simulation use: everything that keeps a trace of calls is replaced. */
import { createHash } from "node:crypto";
import { createNameMatcher } from "../policy/permission.ts";
import type { CallServices } from "../call/call-run.ts";
import { NO_SIDE_EFFECTS, type SideEffects, type SimulationMode } from "../session/simulation-mode.ts";

/** Longer ids of branches are hashed in the ids of their calls, which could not be read back otherwise. */
const MAX_NAME_LENGTH = 256;

/**
 * Returns the parts for one branch: listeners get no events of its calls, they are not counted, and they use up no ids or random numbers of others.
 *
 * @param branchName part of the ids of its calls, so it must be unique among the branches that are committed to the same session
 */
export function createSimulationServices(services: CallServices, branchName: string, simulation: SimulationMode): CallServices {
  const hooks = [...services.beforeHooks, ...services.afterHooks];
  const name = branchName.length <= MAX_NAME_LENGTH ? branchName : createHash("sha256").update(branchName).digest("hex");
  let ids = 0;
  return {
    ...services,
    ports: {
      ...services.ports,
      // A service recognizes a request by the key derived from its call's id, so a call that may run for real needs a regular id.
      ids: simulation.mayBeReal ? services.ports.ids : { next: (prefix) => `${prefix}_${name}_${++ids}` },
      random: { next: () => 0.5 },
    },
    counters: { calls: 0, succeeded: 0, attempts: 0, repairs: 0, orphans: 0, abandoned: 0 },
    beforeHooks: services.beforeHooks.filter((hook) => hook.inSimulation === "run"),
    afterHooks: services.afterHooks.filter((hook) => hook.inSimulation === "run"),
    undecidedHook: hooks.find((hook) => hook.inSimulation !== "run" && hook.inSimulation !== "skip")?.name,
    listening: false,
    emit: () => {},
  };
}

/** The name of a branch in the ids of its calls. A given id may have belonged to an earlier branch that was committed. */
export function branchName({ length }: { readonly length: number }, id: string, { id: given }: { readonly id?: string }): string {
  return given === undefined ? id : `${id}~${length}`;
}

/** Converts the option `allowSideEffects` to a function that says whether a tool's calls may run for real. @throws ToolError `invalid_argument` */
export function toSideEffects(allowed: boolean | readonly string[]): SideEffects {
  if (allowed === true) return () => true;
  if (allowed === false || allowed.length === 0) return NO_SIDE_EFFECTS;
  const matches = createNameMatcher(allowed, "allowSideEffects");
  return (qualifiedName) => matches(qualifiedName) !== undefined;
}
