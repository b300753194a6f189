/** Simulates a call that a person is asked about, and says what it would change. */
import type { ApprovalPreview, PreviewedChange, PreviewedEffects } from "../core/approval-preview.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { ToolError } from "../core/error.ts";
import { resultText, type ToolResult } from "../core/result.ts";
import type { AdmittedCall, SimulatedCall } from "../call/call-run.ts";
import type { EngineSource } from "../call/fallback-chains.ts";
import { definitionOf } from "../registry/definition-of.ts";
import { unavailable } from "../policy/approval/await-preview.ts";
import { SimulationMode } from "../session/simulation-mode.ts";
import type { SessionDiff } from "../session/session-diff.ts";
import { simulationParts } from "./simulation-parts.ts";
import { partsOf, RuntimeSession, type SessionHost } from "./runtime-session.ts";

/** Longest time of a simulation that a person waits for. */
const PREVIEW_MS = 5_000;
/** Most bytes of a preview as JSON. */
const PREVIEW_BYTES = 64 * 1024;
const MAX_CALLS = 200;
/** An example is made up of the output schema: it says nothing of what the call would do. */
const EXAMPLE: EngineSource = "example";

/** Where previews are made. */
export interface PreviewHost extends SessionHost {
  /** A session that only gives simulations something to be a branch of. */
  ephemeral(): RuntimeSession;
}

/** Never rejects: says why there is no preview. */
export async function simulateCall(run: AdmittedCall, host: PreviewHost): Promise<SimulatedCall> {
  const { session } = run.turn;
  const why = whyNot(run);
  if (why !== undefined) return none(why);
  const parent = session instanceof RuntimeSession ? session : host.ephemeral();
  const aborting = new AbortController();
  const late = Promise.withResolvers<SimulatedCall>();
  const stop = run.clock.timer(() => {
    late.resolve(none(`the simulation took longer than ${PREVIEW_MS / 1_000} s`));
    aborting.abort();
  }, PREVIEW_MS);
  try {
    return await Promise.race([simulate(run, parent, { host, signal: aborting.signal }), late.promise]);
  } catch (thrown: unknown) {
    return none(ToolError.fromUnknown(thrown).message);
  } finally {
    stop();
    aborting.abort();
    if (parent !== session) void parent.close().catch(() => {});
  }
}

function none(reason: string): SimulatedCall {
  return { preview: unavailable(reason), calls: [] };
}

/** A call that only reads would be made for real, and that is what is asked about. */
function whyNot({ effects, toolName, plan }: AdmittedCall): string | undefined {
  const onlyReads = plan.tool.composite !== true && !effects.undeclared && effects.writes.length === 0;
  return onlyReads ? `${toolName} only reads, so it changes nothing; a simulation would make the call` : undefined;
}

interface SimulateParts {
  readonly host: PreviewHost;
  readonly signal: AbortSignal;
}

async function simulate(run: AdmittedCall, parent: RuntimeSession, { host, signal }: SimulateParts): Promise<SimulatedCall> {
  const branch = branchNow(run, parent, host);
  try {
    const { data } = run.options;
    const result = await branch.execute({ name: run.toolName, input: run.input }, { signal, data, background: false, approved: true });
    if (result.error?.code === "not_simulatable") return none(result.error.message);
    const diff = branch.diff();
    const made = diff.calls.filter(({ callId }) => callId !== result.callId);
    const calls = made.flatMap(({ input, result: ended }) =>
      input === undefined || ended === undefined
        ? []
        : [{ toolName: ended.name, input, definition: definitionOf(run.parts.registry, ended.name) }],
    );
    return { preview: fitted({ available: true, ...effectsOf(diff, result) }), calls };
  } finally {
    void branch.close().catch(() => {}); // nothing of it is kept
  }
}

/** A branch of the session as it is now, in the middle of its turn, which the session itself does not know of. */
function branchNow({ turn }: AdmittedCall, parent: RuntimeSession, host: SessionHost): RuntimeSession {
  const parts = partsOf(parent);
  const { head, length, stateMap: state } = parent;
  const simulation = new SimulationMode();
  if (turn.session.simulation !== undefined) simulation.adopt(turn.session.simulation);
  const id = `${parent.id}/preview-${parts.ports.ids.next("preview")}`;
  return new RuntimeSession(
    {
      id,
      head: { ...head, log: head.log.branch(length), length, state },
      parent,
      simulation,
      // Nothing is asked about, and no model is: calls that need a yes of their own end `approval_required`, and sessions are not begun.
      parts: { ...simulationParts(parts, id, simulation), asksNobody: true, beginWithin: () => Promise.reject(startsAgent()) },
      ports: parts.ports,
      recorded: true,
    },
    host,
  );
}

function startsAgent(): ToolError {
  return new ToolError("not_simulatable", "It begins a session of its own, such as that of an agent, and a preview asks no model.");
}

function effectsOf({ state, calls, pretended }: SessionDiff, result: ToolResult): PreviewedEffects {
  const made = calls.filter(({ callId }) => callId !== result.callId);
  return {
    state: state.map(({ toolset, key, before, after, patch }) => ({ toolset, key, patch, ...omitUndefined({ before, after }) })),
    calls: made.slice(0, MAX_CALLS).map(({ call, input, result: ended }) => ({
      toolName: ended?.name ?? call.name,
      input: input ?? {},
      outcome: ended?.error?.code ?? ended?.status ?? "cancelled",
    })),
    writes: pretended,
    ...(result.answeredBy === EXAMPLE ? {} : { answer: resultText(result) }),
    ...(made.length > MAX_CALLS ? { isCut: true as const } : {}),
  };
}

/** Without its longest parts where it would be too large: values first, then the answer, then calls and steps. */
function fitted(preview: ApprovalPreview & { readonly available: true }): ApprovalPreview {
  if (bytesOf(preview) <= PREVIEW_BYTES) return preview;
  const short = { ...preview, state: preview.state.map(withoutValues), isCut: true as const };
  if (bytesOf(short) <= PREVIEW_BYTES) return short;
  const cut = { ...short, ...omitUndefined({ answer: preview.answer?.slice(0, MAX_ANSWER) }) };
  if (bytesOf(cut) <= PREVIEW_BYTES) return cut;
  const names = { ...cut, state: cut.state.map((one) => ({ ...one, patch: [] })), calls: cut.calls.map((one) => ({ ...one, input: {} })) };
  if (bytesOf(names) <= PREVIEW_BYTES) return names;
  return {
    ...names,
    state: names.state.slice(0, MAX_NAMED),
    calls: names.calls.slice(0, MAX_NAMED),
    writes: names.writes.slice(0, MAX_NAMED),
  };
}

const MAX_ANSWER = 8_192;
const MAX_NAMED = 20;

function withoutValues({ before: _before, after: _after, ...change }: PreviewedChange): PreviewedChange {
  return change;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
