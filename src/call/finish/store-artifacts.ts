/** Stores the files of answers and messages as artifacts, so that the log has their addresses instead of their bytes. */
import type { ArtifactStore } from "../../core/artifact.ts";
import { deepFreeze } from "../../core/base/frozen.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { SessionMessage } from "../../core/message.ts";
import {
  ArtifactAddresses,
  FilePlaceholders,
  replaceInAnswer,
  replaceInMessage,
  type AnswerParts,
  type FileReplacer,
} from "../../policy/results/artifact-parts.ts";
import { waitFor, type Interruptible } from "../../policy/attempts/deadline.ts";
import { extractDataUrls } from "../../policy/results/extract-data-urls.ts";
import type { Session } from "../../session/session.ts";
import type { AdmittedCall, CallServices, CallRun } from "../call-run.ts";

/** Maximum number of different files per answer; an answer with more is handled as if there were no artifact store. */
const MAX_ARTIFACTS = 256;

/** Longest time that storing one file may take, in milliseconds: if the program's store hangs, no call or round may end because of it. */
const PUT_MS = 10_000;

type ArtifactServices = Pick<CallServices, "artifacts" | "ports">;

/** The waiter for the store: a call, which may be cancelled or time out meanwhile, or one without a deadline that cannot be cancelled. */
type StoreWaiter = Interruptible & { readonly deadlineAt: number };

/** Whether an answer is recorded with its files in it. A simulation writes nothing to the artifact store. */
export function recordsFilesInline({ artifacts }: Pick<CallServices, "artifacts">, session: Pick<Session, "simulation">): boolean {
  return artifacts === undefined || (artifacts !== false && session.simulation !== undefined);
}

/** Replaces the files of the answer, which is validated already. If they cannot be stored, the answer stays whole, with a warning. */
export function storeAnswerFiles(run: AdmittedCall): AdmittedCall | Promise<AdmittedCall> {
  const { services } = run;
  const { output, content } = run.answer;
  if (recordsFilesInline(services, run.turn.session)) return run;
  const replacement = replacementFor(services);
  const replaced = replaceInAnswer({ output, content }, replacement);
  if (replaced === undefined) return run;
  const storing = storeFiles(services, replacement, run);
  if (storing === undefined) return setAnswer(run, replaced);
  return storing.then((problem) => (problem === undefined ? setAnswer(run, replaced) : keepFilesInline(run, problem)));
}

interface PartsToStore extends AnswerParts {
  /** A noun for the log message. */
  readonly what: string;
  /** @default the store is waited for even if the call ends */
  readonly waiter?: StoreWaiter | undefined;
}

/** Like `storeAnswerFiles`, for anything that a call shows in place of its handler's answer. Never rejects. */
export function storePartFiles(run: CallRun, { what, waiter, ...answer }: PartsToStore): AnswerParts | Promise<AnswerParts> {
  const { services } = run;
  if (recordsFilesInline(services, run.turn.session)) return withLiftedData(answer);
  const replacement = replacementFor(services);
  const replaced = replaceInAnswer(answer, replacement);
  if (replaced === undefined) return answer;
  const storing = storeFiles(services, replacement, waiter);
  if (storing === undefined) return replaced;
  return storing.then((problem) => {
    if (problem === undefined) return replaced;
    services.ports.log.warn(`The files in the ${what} of ${run.toolName} stay in the log: ${problem}`);
    return withLiftedData(answer);
  });
}

function withLiftedData({ output, content }: AnswerParts): AnswerParts {
  return { output, content: extractDataUrls(output, content) ?? content };
}

/** Returns the message with addresses in place of its files; the same message if it has none, or if they cannot be stored. Never rejects. */
export function storeMessageFiles(
  services: ArtifactServices,
  session: Session,
  message: SessionMessage,
): SessionMessage | Promise<SessionMessage> {
  if (recordsFilesInline(services, session)) return message;
  const replacement = replacementFor(services);
  const replaced = replaceInMessage(message, replacement);
  if (replaced === message) return message;
  const storing = storeFiles(services, replacement);
  if (storing === undefined) return deepFreeze(replaced);
  return storing.then((problem) => {
    if (problem === undefined) return deepFreeze(replaced);
    services.ports.log.warn(`The files of a message stay in its log: ${problem}`);
    return message;
  });
}

function replacementFor({ artifacts }: ArtifactServices): FileReplacer {
  return artifacts === false ? new FilePlaceholders() : new ArtifactAddresses();
}

/** Resolves to the reason why files could not be stored; undefined at once if there is nothing to store. */
function storeFiles(
  { artifacts, ports }: ArtifactServices,
  replacement: FileReplacer,
  waiter: StoreWaiter = { clock: ports.clock, wait: undefined, deadlineAt: Infinity },
): Promise<string | undefined> | undefined {
  return replacement instanceof ArtifactAddresses && artifacts !== false && artifacts !== undefined
    ? putArtifacts(artifacts, replacement, { waiter, at: ports.clock.wallTime() })
    : undefined;
}

async function putArtifacts(
  store: ArtifactStore,
  { artifacts }: ArtifactAddresses,
  { waiter, at }: { readonly waiter: StoreWaiter; readonly at: number },
): Promise<string | undefined> {
  if (artifacts.length > MAX_ARTIFACTS) return `there are ${artifacts.length} of them, and at most ${MAX_ARTIFACTS} are kept.`;
  try {
    for (const artifact of artifacts) {
      const endsAt = Math.min(waiter.deadlineAt, waiter.clock.now() + PUT_MS);
      const waited = await waitFor(waiter, store.put({ artifact, at }), { endsAt, timeoutError: storeTimeoutError });
      if ("thrown" in waited) throw waited.thrown;
      if ("ended" in waited) return waited.ended.message;
    }
    return undefined;
  } catch (thrown: unknown) {
    return describeThrown(thrown);
  }
}

export function storeTimeoutError(): ToolError {
  return new ToolError("timeout", "the store did not answer in time.");
}

function setAnswer(run: AdmittedCall, { output, content }: AnswerParts): AdmittedCall {
  run.answer.output = output === undefined ? undefined : deepFreeze(output);
  run.answer.content = content === undefined ? undefined : deepFreeze(content);
  run.answer.outputBound = undefined;
  return run;
}

function keepFilesInline(run: AdmittedCall, problem: string): AdmittedCall {
  run.services.ports.log.warn(`The files in the answer of ${run.toolName} stay in the log: ${problem}`);
  run.warnings = [...run.warnings, `The files of the answer could not be kept as artifacts: ${problem}`];
  const lifted = extractDataUrls(run.answer.output, run.answer.content);
  if (lifted !== undefined) run.answer.content = deepFreeze(lifted);
  return run;
}
