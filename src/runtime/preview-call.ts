/** Simulates a call that needs approval, to show what it would change. */
import type { ApprovalPreview, PreviewedChange, PreviewedEffects } from "../core/approvals/approval-preview.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { ToolError } from "../core/error.ts";
import { resultText, type ToolResult } from "../core/result.ts";
import type { AdmittedCall, SimulatedCall } from "../call/call-run.ts";
import type { EngineSource } from "../call/fallback-chains.ts";
import { getDefinitionFingerprint } from "../registry/definition-fingerprint.ts";
import { unavailablePreview } from "../policy/approval/await-preview.ts";
import { SimulationMode } from "../session/simulation-mode.ts";
import type { SessionDiff } from "../session/session-diff.ts";
import { createSimulationServices } from "./simulation-services.ts";
import { servicesOf, RuntimeSession, type SessionHost } from "./runtime-session.ts";

/** Longest time that a simulation may take while a person waits, in milliseconds. */
const PREVIEW_MS = 5_000;
/** Maximum size of a preview as JSON. */
const PREVIEW_BYTES = 64 * 1024;
const MAX_CALLS = 200;
/** The source whose answers are not shown: an example is made from the output schema, and says nothing about what the call would do. */
const EXAMPLE: EngineSource = "example";

/** Creates the sessions for previews. */
export interface PreviewHost extends SessionHost {
  /** A session whose only purpose is to be the parent of simulations. */
  createEphemeral(): RuntimeSession;
}

/** Never rejects: resolves to the reason if there is no preview. */
export async function simulateCall(run: AdmittedCall, host: PreviewHost): Promise<SimulatedCall> {
  const { session } = run.turn;
  const why = whyNoPreview(run);
  if (why !== undefined) return noPreview(why);
  const parent = session instanceof RuntimeSession ? session : host.createEphemeral();
  const aborting = new AbortController();
  const late = Promise.withResolvers<SimulatedCall>();
  const stop = run.clock.timer(() => {
    late.resolve(noPreview(`the simulation took longer than ${PREVIEW_MS / 1_000} s`));
    aborting.abort();
  }, PREVIEW_MS);
  try {
    return await Promise.race([simulate(run, parent, { host, signal: aborting.signal }), late.promise]);
  } catch (thrown: unknown) {
    return noPreview(ToolError.fromUnknown(thrown).message);
  } finally {
    stop();
    aborting.abort();
    if (parent !== session) void parent.close().catch(() => {});
  }
}

function noPreview(reason: string): SimulatedCall {
  return { preview: unavailablePreview(reason), calls: [] };
}

/** Why there is no preview. A simulation would run a call that only reads for real, before it is approved. */
function whyNoPreview({ effects, toolName, plan }: AdmittedCall): string | undefined {
  const onlyReads = plan.tool.composite !== true && !effects.undeclared && effects.writes.length === 0;
  return onlyReads ? `${toolName} only reads, so it changes nothing; a simulation would make the call` : undefined;
}

interface PreviewOptions {
  readonly host: PreviewHost;
  readonly signal: AbortSignal;
}

async function simulate(run: AdmittedCall, parent: RuntimeSession, { host, signal }: PreviewOptions): Promise<SimulatedCall> {
  const branch = branchMidTurn(run, parent, host);
  try {
    const { data, visibility: allow, principal } = run.options;
    const options = { signal, data, background: false, approved: true, ...omitUndefined({ allow, principal }) };
    const result = await branch.execute({ name: run.toolName, input: run.input }, options);
    if (result.error?.code === "not_simulatable") return noPreview(result.error.message);
    const diff = branch.diff();
    const nested = diff.calls.filter(({ callId }) => callId !== result.callId);
    const calls = nested.flatMap(({ input, result: ended }) =>
      input === undefined || ended === undefined
        ? []
        : [{ toolName: ended.name, input, definition: getDefinitionFingerprint(run.services.registry, ended.name) }],
    );
    return { preview: fitPreview({ available: true, ...toPreviewedEffects({ ...diff, calls: nested }, result) }), calls };
  } finally {
    void branch.close().catch(() => {}); // nothing of it is kept
  }
}

/** A branch of the session in the middle of its turn, which the session itself does not know about. */
function branchMidTurn({ turn }: AdmittedCall, parent: RuntimeSession, host: SessionHost): RuntimeSession {
  const services = servicesOf(parent);
  const { head, length, stateMap: state } = parent;
  const simulation = new SimulationMode();
  if (turn.session.simulation !== undefined) simulation.addPretendedWrites(turn.session.simulation);
  const id = `${parent.id}/preview-${services.ports.ids.next("preview")}`;
  return new RuntimeSession(
    {
      id,
      head: { ...head, log: head.log.branch(length), length, state },
      parent,
      simulation,
      // A preview asks neither a person nor a model: calls that need their own approval end with `approval_required`, and no sessions are begun.
      services: {
        ...createSimulationServices(services, id, simulation),
        hasNoApprover: true,
        startSessionWithin: () => Promise.reject(startsAgentError()),
      },
      ports: services.ports,
      recorded: true,
    },
    host,
  );
}

function startsAgentError(): ToolError {
  return new ToolError("not_simulatable", "It begins a session of its own, such as that of an agent, and a preview asks no model.");
}

/** The effects that a person is shown. The diff has only the nested calls. */
function toPreviewedEffects({ state, calls, pretended }: SessionDiff, result: ToolResult): PreviewedEffects {
  return {
    state: state.map(({ toolset, key, before, after, patch }) => ({ toolset, key, patch, ...omitUndefined({ before, after }) })),
    calls: calls.slice(0, MAX_CALLS).map(({ call, input, result: ended }) => ({
      toolName: ended?.name ?? call.name,
      input: input ?? {},
      outcome: ended?.error?.code ?? ended?.status ?? "cancelled",
    })),
    writes: pretended,
    ...(result.answeredBy === EXAMPLE ? {} : { answer: resultText(result) }),
    ...(calls.length > MAX_CALLS ? { isCut: true as const } : {}),
  };
}

/** Shortens a preview that is too large, in steps: omits values, shortens the answer, omits patches and inputs, then limits the number of entries. */
function fitPreview(preview: ApprovalPreview & { readonly available: true }): ApprovalPreview {
  if (countBytes(preview) <= PREVIEW_BYTES) return preview;
  const short = { ...preview, state: preview.state.map(withoutValues), isCut: true as const };
  if (countBytes(short) <= PREVIEW_BYTES) return short;
  const cut = { ...short, ...omitUndefined({ answer: preview.answer?.slice(0, MAX_ANSWER) }) };
  if (countBytes(cut) <= PREVIEW_BYTES) return cut;
  const names = { ...cut, state: cut.state.map((one) => ({ ...one, patch: [] })), calls: cut.calls.map((one) => ({ ...one, input: {} })) };
  if (countBytes(names) <= PREVIEW_BYTES) return names;
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

function countBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
