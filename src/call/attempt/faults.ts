/** Which faults the calls of one runtime meet: those that it plans itself, and those of the tools' toolsets. */
import type { ToolCall } from "../../core/call.ts";
import type { FaultPlan } from "../../core/fault.ts";
import { drawFault, faultPolicy, type Fault, type FaultPolicy } from "../../policy/faults/fault.ts";
import { NO_CALLS, countCall, countCalls, type CallSample, type CallTally } from "../../policy/faults/fault-tally.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import { faultsOf } from "../../registry/toolset-faults.ts";
import type { Session } from "../../session/session.ts";

/** The state of the faults of one call. */
export class CallFaults {
  readonly sample: CallSample;
  /** The one that hits it; undefined until its engine is first to be asked, null where none does. */
  drawn: Fault | null | undefined;
  /** The fault that changes the answer under way. */
  spoils: Fault | undefined;
  /** Type of the one that it has met. */
  met: string | undefined;

  constructor(sample: CallSample) {
    this.sample = sample;
  }
}

/** More different calls of no session are not remembered: counting begins again. */
const MAX_REMEMBERED_CALLS = 1_000_000;

export class Faults {
  /** The runtime plans faults itself. */
  readonly isPlanned: boolean;
  readonly #plan: FaultPolicy | undefined;
  #ephemeralCalls: CallTally = NO_CALLS;

  /** @throws ToolError `invalid_argument` for a plan that cannot be kept */
  constructor(plan: FaultPlan | undefined) {
    this.#plan = plan === undefined ? undefined : faultPolicy(plan, { owner: "the runtime" });
    this.isPlanned = plan !== undefined;
  }

  /** Some call of these tools may meet a fault. */
  mayHit({ hasFaults }: { readonly hasFaults: boolean }): boolean {
    return this.isPlanned || hasFaults;
  }

  /** The calls of no session so far. */
  get ephemeralCalls(): CallTally {
    return this.#ephemeralCalls;
  }

  /** Takes the number of a call that begins. */
  begin(session: Session, call: ToolCall): CallFaults {
    const before = session.isEphemeral ? this.#ephemeralCalls : (session.tally ?? countCalls(NO_CALLS, session.log));
    const { sample, tally } = countCall(before, call);
    if (!session.isEphemeral) session.tally = tally;
    else this.#ephemeralCalls = tally.size > MAX_REMEMBERED_CALLS ? NO_CALLS : tally;
    return new CallFaults(sample);
  }

  /** The fault that hits the call; the same whenever it is asked for. */
  draw(sample: CallSample, { qualifiedName, toolset }: RegisteredTool, session: Session): Fault | undefined {
    return drawFault([this.#plan, faultsOf(toolset)], { ...sample, toolName: qualifiedName, session: session.seedName });
  }
}
