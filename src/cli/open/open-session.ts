/** Opens the session of a command: a new one, one that is resumed from the store, or a copy of one to simulate on. */
import { writeRecording } from "../../core/recording/recording.ts";
import type { Store } from "../../core/store/store.ts";
import { importRecording } from "../../runtime/import-recording.ts";
import { storedEvents } from "../../session/read-events.ts";
import type { ResumeOptions } from "../../runtime/resume/resume-session.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { CommandContext } from "../command.ts";
import { createCallerRules } from "./caller-rules.ts";
import type { OpenRuntime } from "./open-runtime.ts";
import { InterruptedCalls } from "./interrupted-calls.ts";
import { findSession, withSession } from "./open-store.ts";
import type { EventPrinter } from "../print/print-event.ts";
import { Progress, withProgress } from "../terminal/progress.ts";
import { safeName } from "../terminal/terminal-text.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { plural } from "../../core/base/wording.ts";

export interface ResumeStoredSessionOptions {
  readonly open: Pick<OpenRuntime, "runtime" | "config">;
  /** An open store. */
  readonly store: Store;
  readonly sessionId: string;
  /** Shows the interrupted calls; undefined = nothing is shown. */
  readonly printer: EventPrinter | undefined;
  /** Called with the interrupted calls before any of them continues. */
  readonly onInterrupted?: (calls: InterruptedCalls) => void;
  readonly resume?: Omit<ResumeOptions, "allow">;
}

/** Resumes a session of the store, and prints interrupted calls as calls that begin. @throws ToolError as `Runtime.resume` does */
export async function resumeStoredSession(context: CommandContext, options: ResumeStoredSessionOptions): Promise<RuntimeSession> {
  const { open, store, sessionId, printer } = options;
  const { runtime } = open;
  return withSession(store, sessionId, async () => {
    const known = await findSession(store, sessionId);
    const interrupted = await readInterruptedCalls(context, { store, sessionId, printer });
    // If another process has the session open, the calls are not interrupted but run there.
    if (known?.openedBy === undefined || options.resume?.takeOver === true) {
      printer?.printAside(`session ${safeName(sessionId)}: continues after ${plural(interrupted.events, "event")}`);
      printer?.setExpectedNames(interrupted.calls.flatMap(({ call }) => [call.name, runtime.registry.get(call.name)?.qualifiedName ?? ""]));
      for (const call of interrupted.calls) printer?.print(call);
      options.onInterrupted?.(interrupted);
    }
    return rejectOnAbort(runtime.resume(sessionId, { ...options.resume, allow: createCallerRules(open) }), context.signal);
  });
}

/** Resumes the session of this id, or begins it if the store has none. */
async function resumeOrCreateSession(context: CommandContext, options: ResumeStoredSessionOptions): Promise<RuntimeSession> {
  const { open, store, sessionId, printer } = options;
  if ((await findSession(store, sessionId)) !== undefined) return resumeStoredSession(context, options);
  printer?.printAside(`session ${safeName(sessionId)}: new`);
  return open.runtime.session(sessionId);
}

export type OpenSessionOptions = Omit<ResumeStoredSessionOptions, "store" | "sessionId"> & { readonly store: Store | undefined };

/** Opens the session of `--session`, or a new one. Prints its id if it is stored. */
export async function openStoredSession(context: CommandContext, { store, ...options }: OpenSessionOptions): Promise<RuntimeSession> {
  const { session: sessionId } = context.options;
  if (store !== undefined && sessionId !== undefined) return resumeOrCreateSession(context, { ...options, store, sessionId });
  const session = options.open.runtime.session();
  if (store !== undefined) options.printer?.printAside(`session ${session.id}: new`);
  return session;
}

/** Copies a session into another store, so that the original is not changed. */
export async function copySession(
  context: CommandContext,
  sessionId: string,
  { from, to }: { readonly from: Store; readonly to: Store },
): Promise<void> {
  const progress = new Progress(context.err);
  try {
    const events = withProgress(storedEvents(from, sessionId), progress, (count) => `reading: ${plural(count, "event")}`);
    const text = writeRecording(events, { sessionId, exportedAt: 0 });
    await withSession(from, sessionId, () => rejectOnAbort(importRecording(to, text), context.signal));
  } finally {
    progress.clear();
  }
}

/** Finds the interrupted calls. Also numbers the calls of the log, so that later calls do not begin at #1 again. */
async function readInterruptedCalls(
  { err, signal }: CommandContext,
  { store, sessionId, printer }: Pick<ResumeStoredSessionOptions, "store" | "sessionId" | "printer">,
): Promise<InterruptedCalls> {
  const interrupted = new InterruptedCalls();
  const progress = new Progress(err);
  try {
    for await (const event of storedEvents(store, sessionId)) {
      signal.throwIfAborted();
      interrupted.addStoredEvent(event);
      if (event.type === "call-start") printer?.numberCall(event.callId);
      progress.show(() => `reading: ${plural(interrupted.events, "event")}`);
    }
  } finally {
    progress.clear();
  }
  return interrupted;
}
