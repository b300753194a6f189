/** Makes the plan of a tool from the parts of its runtime. */
import type { Engine } from "../core/engine.ts";
import type { RuntimeEvent } from "../core/event.ts";
import type { Ports } from "../core/ports.ts";
import type { Toolset } from "../core/toolset.ts";
import { ToolPlan, type ToolPlanOptions } from "../call/tool-plan.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";

interface ToolPlanParts extends Pick<ToolPlanOptions, "slots" | "limit"> {
  readonly circuit?: ToolPlanOptions["circuit"];
  /** Of tools that are functions. */
  readonly local: Engine;
  readonly engineOf: (toolset: Toolset) => Engine;
  readonly ports: Ports;
  readonly emit: (event: RuntimeEvent) => void;
}

export function makeToolPlan(registered: RegisteredTool, options: ToolPlanParts): ToolPlan {
  const { circuit = {}, local, engineOf, slots, limit, ports, emit } = options;
  return new ToolPlan({
    registered,
    engine: registered.tool.execute === undefined ? engineOf(registered.toolset) : local,
    slots,
    limit,
    clock: ports.clock,
    circuit,
    onCircuit: (state) => emit({ type: "circuit-change", at: ports.clock.wallTime(), toolName: registered.qualifiedName, state }),
    warn: (message) => ports.log.warn(message),
  });
}
