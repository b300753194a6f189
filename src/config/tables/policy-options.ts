/** Turns tables of a configuration into options of its runtime, for `configuredRuntime()` and the command line. */
import type { RuntimeOptions } from "../../runtime/runtime-options.ts";
import type { HaftConfig } from "../haft-config.ts";
import { approvalSettings } from "./policy-config.ts";

type Policies = Pick<HaftConfig, "runtime" | "retry" | "circuit" | "permission" | "approval" | "cache" | "jobs" | "inputLimits">;

export function policyOptions({ runtime, approval, retry, circuit, permission, cache, jobs, inputLimits }: Policies): RuntimeOptions {
  const { artifacts: _artifacts, ...settings } = runtime; // `buildArtifacts` makes a store from it
  return { ...settings, retry, circuit, permission, approval: approvalSettings(approval), cache, jobs, inputLimits };
}
