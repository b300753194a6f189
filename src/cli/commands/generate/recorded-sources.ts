/** The recordings and stored sessions for a generation, as the command line names them. */
import { ToolError } from "../../../core/error.ts";
import type { SessionEvent } from "../../../core/event.ts";
import { readRecording } from "../../../core/recording/recording.ts";
import type { Store } from "../../../core/store/store.ts";
import type { RecordedSource } from "../../../generate/conversations/recorded/recorded-plan.ts";
import { REDACTED_KINDS, type Redaction } from "../../../generate/conversations/recorded/redaction.ts";
import { storedEvents } from "../../../session/read-events.ts";
import { parseChoice } from "../../command-line.ts";
import type { CommandContext } from "../../command.ts";
import { allSessions, withSession } from "../../open/open-store.ts";
import { withFileName, readRecordedEvents } from "../../input/read-recorded-events.ts";
import { readPieces } from "../../input/read-input.ts";

/** Whether to generate from recorded conversations. @throws ToolError `invalid_argument` for options that do not fit that */
export function usesRecordings({ options, args }: CommandContext): boolean {
  const { from, fromStore, redact, store } = options;
  const isRequested = from.length > 0 || fromStore;
  if (!isRequested) {
    const stray = redact.length > 0 ? "--redact" : store !== undefined ? "--store" : undefined;
    if (stray !== undefined)
      throw new ToolError("invalid_argument", `${stray} is for conversations of recordings or of a store.`, {
        hint: "Add --from recording.jsonl, or --from-store.",
      });
    if (args.length > 1) throw new ToolError("invalid_argument", `haft generate does not take the argument ${JSON.stringify(args[1])}.`);
    return false;
  }
  if (from.length > 0 && fromStore)
    throw new ToolError("invalid_argument", "--from and --from-store cannot be used together.", { hint: "Generate one file of each." });
  if (store !== undefined && !fromStore)
    throw new ToolError("invalid_argument", "--store needs --from-store.", { hint: "Leave out --from, or --store." });
  const strays = { "--calls": options.calls, "--sample": options.sample, "--system": options.system, "--tools": options.tools[0] };
  const [stray] = Object.entries(strays).find(([, value]) => value !== undefined) ?? [];
  if (stray !== undefined)
    throw new ToolError("invalid_argument", `${stray} is for made-up conversations, not for those of recordings.`, {
      hint: `Leave out ${stray}.`,
    });
  return true;
}

/** Reads `--redact secrets,emails`, `all` or `none`. @throws ToolError `invalid_argument` for another word */
export function parseRedaction({ options }: CommandContext): Redaction | undefined {
  const words = options.redact
    .flatMap((text) => text.split(","))
    .map((word) => parseChoice("redact", word.trim(), ["all", "none", ...REDACTED_KINDS]));
  if (words.length === 0) return undefined;
  if (words.includes("none")) {
    if (words.length > 1)
      throw new ToolError("invalid_argument", "--redact none cannot be combined with other words.", { hint: "Leave out one of the two." });
    return "none";
  }
  return words.includes("all") ? REDACTED_KINDS : REDACTED_KINDS.filter((kind) => words.includes(kind));
}

/** Returns the files of `--from`, and of the arguments after it. @throws ToolError, as a rejection, as reading standard input does */
export async function recordingSources(context: CommandContext): Promise<readonly RecordedSource[]> {
  const files = [...context.options.from, ...context.args];
  if (files.filter((file) => file === "-").length > 1)
    throw new ToolError("invalid_argument", "Standard input is named more than once.", { hint: "It can hold one recording only." });
  return await Promise.all(files.map((file) => recordingSource(context, file)));
}

async function recordingSource(context: CommandContext, file: string): Promise<RecordedSource> {
  if (file !== "-") return { name: file, events: () => readRecordingEvents(context, file) };
  const events = await readRecordedEvents(context, file); // standard input can be read only once
  return { name: "standard input", events: () => events };
}

async function* readRecordingEvents(context: CommandContext, file: string): AsyncGenerator<SessionEvent, void, undefined> {
  try {
    yield* (await readRecording(readPieces(context, file))).events;
  } catch (thrown: unknown) {
    throw withFileName(ToolError.fromUnknown(thrown), file);
  }
}

/** Returns the sessions that the arguments name, else all of the store, the oldest first. @throws ToolError `not_found`, as a rejection */
export async function sessionSources({ args }: CommandContext, store: Store): Promise<readonly RecordedSource[]> {
  const ids: string[] = [];
  for (const id of new Set(args)) {
    await withSession(store, id, () => store.read(id, { limit: 1 }));
    ids.push(id);
  }
  if (ids.length === 0) {
    for await (const { sessionId } of allSessions(store)) ids.push(sessionId);
    ids.reverse();
  }
  if (ids.length === 0)
    throw new ToolError("invalid_argument", "The store has no sessions.", {
      hint: "haft run and haft sessions import add them.",
    });
  return ids.map((id) => ({ name: `session ${JSON.stringify(id)}`, events: () => storedEvents(store, id) }));
}
