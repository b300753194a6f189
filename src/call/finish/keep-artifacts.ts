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
  type FileReplacement,
} from "../../policy/results/artifact-parts.ts";
import { waitFor, type Interruptible } from "../../policy/attempts/deadline.ts";
import { liftData } from "../../policy/results/lift-data.ts";
import type { Session } from "../../session/session.ts";
import type { AdmittedCall, CallParts, CallRun } from "../call-run.ts";

/** Maximum number of different files per answer; an answer with more is handled as if there were no artifact store. */
const MAX_ARTIFACTS = 256;

/** Longest time that storing one file may take, in milliseconds: if the program's store hangs, no call or round may end because of it. */
const PUT_MS = 10_000;

type KeepParts = Pick<CallParts, "artifacts" | "ports">;

/** The waiter for the store: a call, which may be cancelled or time out meanwhile, or one without a deadline that cannot be cancelled. */
type Keeper = Interruptible & { readonly deadlineAt: number };

/** Whether an answer is recorded with its files in it. A simulation writes nothing to the artifact store. */
export function recordsFiles({ artifacts }: Pick<CallParts, "artifacts">, session: Pick<Session, "simulation">): boolean {
  return artifacts === undefined || (artifacts !== false && session.simulation !== undefined);
}

/** Replaces the files of the answer, which is validated already. If they cannot be stored, the answer stays whole, with a warning. */
export function keepAnswerFiles(run: AdmittedCall): AdmittedCall | Promise<AdmittedCall> {
  const { parts } = run;
  const { output, content } = run.answer;
  if (recordsFiles(parts, run.turn.session)) return run;
  const replacement = replacementFor(parts);
  const replaced = replaceInAnswer({ output, content }, replacement);
  if (replaced === undefined) return run;
  const keeping = keep(parts, replacement, run);
  if (keeping === undefined) return take(run, replaced);
  return keeping.then((problem) => (problem === undefined ? take(run, replaced) : stayWhole(run, problem)));
}

interface PartsToKeep extends AnswerParts {
  /** A noun for the log message. */
  readonly what: string;
  /** @default the store is waited for even if the call ends */
  readonly keeper?: Keeper | undefined;
}

/** Like `keepAnswerFiles`, for anything that a call shows in place of its handler's answer. Never rejects. */
export function keepPartFiles(run: CallRun, { what, keeper, ...answer }: PartsToKeep): AnswerParts | Promise<AnswerParts> {
  const { parts } = run;
  if (recordsFiles(parts, run.turn.session)) return lifted(answer);
  const replacement = replacementFor(parts);
  const replaced = replaceInAnswer(answer, replacement);
  if (replaced === undefined) return answer;
  const keeping = keep(parts, replacement, keeper);
  if (keeping === undefined) return replaced;
  return keeping.then((problem) => {
    if (problem === undefined) return replaced;
    parts.ports.log.warn(`The files in the ${what} of ${run.toolName} stay in the log: ${problem}`);
    return lifted(answer);
  });
}

function lifted({ output, content }: AnswerParts): AnswerParts {
  return { output, content: liftData(output, content) ?? content };
}

/** Returns the message with addresses in place of its files; the same message if it has none, or if they cannot be stored. Never rejects. */
export function keepMessageFiles(parts: KeepParts, session: Session, message: SessionMessage): SessionMessage | Promise<SessionMessage> {
  if (recordsFiles(parts, session)) return message;
  const replacement = replacementFor(parts);
  const replaced = replaceInMessage(message, replacement);
  if (replaced === message) return message;
  const keeping = keep(parts, replacement);
  if (keeping === undefined) return deepFreeze(replaced);
  return keeping.then((problem) => {
    if (problem === undefined) return deepFreeze(replaced);
    parts.ports.log.warn(`The files of a message stay in its log: ${problem}`);
    return message;
  });
}

function replacementFor({ artifacts }: KeepParts): FileReplacement {
  return artifacts === false ? new FilePlaceholders() : new ArtifactAddresses();
}

/** Resolves to the reason why files could not be stored; undefined at once if there is nothing to store. */
function keep(
  { artifacts, ports }: KeepParts,
  replacement: FileReplacement,
  keeper: Keeper = { clock: ports.clock, wait: undefined, deadlineAt: Infinity },
): Promise<string | undefined> | undefined {
  return replacement instanceof ArtifactAddresses && artifacts !== false && artifacts !== undefined
    ? putAll(artifacts, replacement, { keeper, at: ports.clock.wallTime() })
    : undefined;
}

async function putAll(
  store: ArtifactStore,
  { artifacts }: ArtifactAddresses,
  { keeper, at }: { readonly keeper: Keeper; readonly at: number },
): Promise<string | undefined> {
  if (artifacts.length > MAX_ARTIFACTS) return `there are ${artifacts.length} of them, and at most ${MAX_ARTIFACTS} are kept.`;
  try {
    for (const artifact of artifacts) {
      const endsAt = Math.min(keeper.deadlineAt, keeper.clock.now() + PUT_MS);
      const waited = await waitFor(keeper, store.put({ artifact, at }), { endsAt, late: storeIsSilent });
      if ("thrown" in waited) throw waited.thrown;
      if ("ended" in waited) return waited.ended.message;
    }
    return undefined;
  } catch (thrown: unknown) {
    return describeThrown(thrown);
  }
}

export function storeIsSilent(): ToolError {
  return new ToolError("timeout", "the store did not answer in time.");
}

function take(run: AdmittedCall, { output, content }: AnswerParts): AdmittedCall {
  run.answer.output = output === undefined ? undefined : deepFreeze(output);
  run.answer.content = content === undefined ? undefined : deepFreeze(content);
  run.answer.outputBound = undefined;
  return run;
}

function stayWhole(run: AdmittedCall, problem: string): AdmittedCall {
  run.parts.ports.log.warn(`The files in the answer of ${run.toolName} stay in the log: ${problem}`);
  run.warnings = [...run.warnings, `The files of the answer could not be kept as artifacts: ${problem}`];
  const lifted = liftData(run.answer.output, run.answer.content);
  if (lifted !== undefined) run.answer.content = deepFreeze(lifted);
  return run;
}
