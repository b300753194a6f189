/** Makes the parts of a runtime that its calls use, from its options. */
import { resolve } from "node:path";
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import type { RuntimeEvent } from "../core/event.ts";
import type { Ports } from "../core/ports.ts";
import type { Slots } from "../core/resources/slots.ts";
import type { Toolset } from "../core/toolset.ts";
import { ApprovalGate } from "../policy/approval/approval-gate.ts";
import { LargeResultStore } from "../policy/results/large-result-store.ts";
import { LeaseLocks } from "../policy/locks/lease-locks.ts";
import { LeaseSlots } from "../policy/locks/lease-slots.ts";
import { Limit } from "../policy/locks/limit.ts";
import { Limits } from "../policy/locks/limits.ts";
import { ResourceLocks } from "../policy/locks/resource-locks.ts";
import { ResultCache } from "../policy/cache/result-cache.ts";
import { findCalledTool } from "../registry/called-tool.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import type { OrphanCount } from "../call/call-counters.ts";
import type { CallServices, CallRun } from "../call/call-run.ts";
import { PROVIDER_ENGINE } from "../call/approve/approve-for-provider.ts";
import { Faults } from "../call/call-faults.ts";
import { ClaimWatch } from "../call/claim-watch.ts";
import { callStack } from "../call/context/call-stack.ts";
import { JobTable } from "../call/jobs/job-table.ts";
import { RunningCalls } from "../call/running-calls.ts";
import { ToolPlan, type ToolPlanOptions } from "../call/tool-plan.ts";
import { watchJobs } from "./job-watch.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

const DEFAULT_ORPHAN_HOLD_MS = 10_000;

type OwnServiceNames =
  | "ports"
  | "registry"
  | "leases"
  | "chains"
  | "listening"
  | "planOf"
  | "executeNested"
  | "startSessionWithin"
  | "simulate"
  | "emit";

/** The parts that a runtime adds to its options. */
interface OwnServices extends Pick<CallServices, OwnServiceNames> {
  /** Functions to call when the runtime is closed. */
  readonly stops: Set<() => void>;
}

export function createCallServices(options: RuntimeOptions, own: OwnServices): CallServices {
  const { ports, registry } = own;
  const hooks = [...(options.hooks ?? [])].sort((one, other) => (one.priority ?? 0) - (other.priority ?? 0));
  return {
    ports,
    registry,
    locks: options.locks ?? new ResourceLocks(),
    leases: own.leases,
    limit: options.maxConcurrent === undefined ? undefined : new Limit(options.maxConcurrent),
    approvals: options.approvals ?? new ApprovalGate(options.approval ?? {}, ports, options.store),
    undecidedHook: undefined,
    chains: own.chains,
    findTool: (name, input) => findCalledTool(registry, name, input)?.tool,
    beforeHooks: hooks.filter((hook) => hook.beforeCall !== undefined),
    afterHooks: hooks.filter((hook) => hook.afterCall !== undefined),
    largeResults: new LargeResultStore({}),
    artifacts: options.artifacts,
    cache: new ResultCache(options.cache ?? {}, { clock: ports.clock, log: ports.log, store: options.store }),
    retry: options.retry ?? {},
    faults: new Faults(options.faults),
    inputLimits: options.inputLimits ?? {},
    orphanHoldMs: options.orphanHoldMs ?? DEFAULT_ORPHAN_HOLD_MS,
    agentName: options.agentName,
    workingFolder: options.workingFolder === undefined ? undefined : resolve(options.workingFolder),
    running: new RunningCalls<CallRun>(),
    claims: new ClaimWatch<CallRun>(ports.clock, callStack),
    nestedWaits: new Set<CallRun>(),
    jobs: new JobTable(options.jobs ?? {}, () => ports.clock.now(), watchJobs(options, ports, own.stops)),
    orphans: new Map<string, OrphanCount>(),
    counters: { calls: 0, succeeded: 0, attempts: 0, repairs: 0, orphans: 0, abandoned: 0 },
    logsDecisions: options.ports?.log !== undefined,
    listening: own.listening,
    tracing: undefined,
    planOf: own.planOf,
    executeNested: own.executeNested,
    startSessionWithin: own.startSessionWithin,
    simulate: own.simulate,
    emit: own.emit,
  };
}

/** The slots of a runtime, and the leases that the calls of its shared toolsets take in its store. */
export interface LockServices {
  /** Undefined without a store. */
  readonly leases: LeaseLocks | undefined;
  /** The limits of a toolset and its tools. */
  slotsOf(toolset: Toolset): Slots;
}

/** @throws ToolError `invalid_argument` for a shared toolset without a store, which is needed to share it */
export function createLockServices(
  { toolsets = [], store, slots = new Limits() }: RuntimeOptions,
  { clock, ids, log }: Ports,
): LockServices {
  const sharedToolset = toolsets.find((toolset) => toolset.shared === true);
  if (store === undefined && sharedToolset !== undefined) {
    throw new ToolError("invalid_argument", `The toolset ${JSON.stringify(sharedToolset.name)} is shared, and the runtime has no store.`, {
      operatorHint: "Give createRuntime the store of the processes that share it, or leave shared out.",
    });
  }
  if (store === undefined) return { leases: undefined, slotsOf: () => slots };
  const leases = new LeaseLocks({ leases: store.leases, clock, ids, log });
  const leaseSlots = new LeaseSlots(leases);
  return { leases, slotsOf: (toolset) => (toolset.shared === true ? leaseSlots : slots) };
}

interface ToolPlanServices extends Pick<ToolPlanOptions, "slots" | "limit"> {
  readonly circuit?: ToolPlanOptions["circuit"];
  /** The engine of tools that are functions. */
  readonly local: Engine;
  readonly engineOf: (toolset: Toolset) => Engine;
  readonly ports: Ports;
  readonly emit: (event: RuntimeEvent) => void;
}

function engineFor({ tool, toolset }: RegisteredTool, { local, engineOf }: ToolPlanServices): Engine {
  if (tool.providerExecuted === true) return PROVIDER_ENGINE;
  return tool.execute === undefined ? engineOf(toolset) : local;
}

export function createToolPlan(registered: RegisteredTool, options: ToolPlanServices): ToolPlan {
  const { circuit = {}, slots, limit, ports, emit } = options;
  return new ToolPlan({
    registered,
    engine: engineFor(registered, options),
    slots,
    limit,
    clock: ports.clock,
    circuit,
    onCircuit: (state) => emit({ type: "circuit-change", at: ports.clock.wallTime(), toolName: registered.qualifiedName, state }),
    warn: (message) => ports.log.warn(message),
  });
}
