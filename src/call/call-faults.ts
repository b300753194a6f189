/** The faults of the calls of one runtime: those it plans itself, and those of the tools' toolsets. */
import type { ToolCall } from "../core/call.ts";
import type { FaultPlan } from "../core/answers/fault.ts";
import { drawFault, faultPolicy, type Fault, type FaultPolicy } from "../policy/faults/fault.ts";
import { NO_CALLS, countCall, countCalls, type CallSample, type CallTally } from "../policy/faults/fault-tally.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { getFaultPolicy } from "../registry/toolset-fault-policy.ts";
import type { Session } from "../session/session.ts";

/** The faults of one call. */
export class CallFaults {
  readonly sample: CallSample;
  /** The fault drawn for the call; undefined before its engine is first called, null for no fault. */
  drawn: Fault | null | undefined;
  /** The fault that changes the answer of the current attempt. */
  answerFault: Fault | undefined;
  /** Type of the fault that the call has met. */
  injectedType: string | undefined;

  constructor(sample: CallSample) {
    this.sample = sample;
  }
}

/** Maximum number of different calls remembered outside of sessions; beyond it, counting starts again. */
const MAX_REMEMBERED_CALLS = 1_000_000;

export class Faults {
  /** Whether the runtime plans faults itself. */
  readonly isPlanned: boolean;
  readonly #plan: FaultPolicy | undefined;
  #ephemeralCalls: CallTally = NO_CALLS;

  /** @throws ToolError `invalid_argument` for an invalid plan */
  constructor(plan: FaultPlan | undefined) {
    this.#plan = plan === undefined ? undefined : faultPolicy(plan, { owner: "the runtime" });
    this.isPlanned = plan !== undefined;
  }

  /** Whether calls of these tools may meet a fault. */
  mayInject({ hasFaults }: { readonly hasFaults: boolean }): boolean {
    return this.isPlanned || hasFaults;
  }

  /** The calls so far in ephemeral sessions. */
  get ephemeralCalls(): CallTally {
    return this.#ephemeralCalls;
  }

  /** Counts a call that begins, and returns its faults. */
  createCallFaults(session: Session, call: ToolCall): CallFaults {
    const before = session.isEphemeral ? this.#ephemeralCalls : (session.tally ?? countCalls(NO_CALLS, session.log));
    const { sample, tally } = countCall(before, call);
    if (!session.isEphemeral) session.tally = tally;
    else this.#ephemeralCalls = tally.size > MAX_REMEMBERED_CALLS ? NO_CALLS : tally;
    return new CallFaults(sample);
  }

  /** The fault of the call; the same each time it is drawn. */
  draw(sample: CallSample, { qualifiedName, toolset }: RegisteredTool, session: Session): Fault | undefined {
    return drawFault([this.#plan, getFaultPolicy(toolset)], { ...sample, toolName: qualifiedName, session: session.seedName });
  }
}
