/** Slash commands of a chat for its background jobs. */
import { formatForOperator } from "../../../core/error.ts";
import type { JsonValue } from "../../../core/base/json.ts";
import { parseJson } from "../../../core/base/parse-json.ts";
import { plural } from "../../../core/base/wording.ts";
import type { JobStatus } from "../../../core/jobs/job-status.ts";
import { toOneLine, safeText, type Screen } from "../../terminal/terminal-text.ts";
import type { Chat } from "./chat.ts";
import { lineWidth } from "../../terminal/text-width.ts";

export interface JobCommandContext {
  readonly chat: Chat;
  readonly screen: Screen;
}

type JobCommand = (context: JobCommandContext, words: readonly string[], rest: string) => readonly string[];

/** The commands by the name that is typed; each returns its answer. */
export const JOB_COMMANDS: ReadonlyMap<string, JobCommand> = new Map<string, JobCommand>([
  ["/jobs", listJobs],
  ["/cancel", createJobCommand("/cancel <job>", cancel)],
  ["/send", createJobCommand("/send <job> <text>", send)],
  ["/promote", promote],
]);

function listJobs({ chat, screen }: JobCommandContext): readonly string[] {
  const { jobs } = chat.session;
  if (jobs.length === 0) return ["No background jobs are running."];
  const width = lineWidth(screen);
  return jobs.map((job) => `  ${toOneLine(`${chat.labelOf(job.id)} ${job.toolName}  ${formatState(job)}`, width - 2)}`);
}

function formatState({ state, output, question, preview }: JobStatus): string {
  if (question !== undefined) return `asks: ${question}`;
  const wrote = output.lines === 0 ? "" : `, ${plural(output.lines, "line")} written, last: ${preview.trimEnd().split("\n").at(-1) ?? ""}`;
  return `${state}${wrote}`;
}

/** Makes a command about the job that the first word names. */
function createJobCommand(usage: string, act: (chat: Chat, id: string, text: string) => string): JobCommand {
  return ({ chat }, [name], rest) => {
    if (name === undefined) return [`${usage}: /jobs shows them, #3 or an id names one.`];
    try {
      return [act(chat, chat.findCallId(name), rest.slice(name.length).trim())];
    } catch (thrown: unknown) {
      return [safeText(formatForOperator(thrown))];
    }
  };
}

function cancel(chat: Chat, id: string): string {
  const label = safeText(chat.labelOf(id));
  return chat.jobs.cancel(id, "the person at the terminal cancelled it") ? `${label} is being cancelled.` : `${label} has ended already.`;
}

function send(chat: Chat, id: string, text: string): string {
  if (text === "") return "/send <job> <text>: the text is missing.";
  chat.jobs.send(id, parseInput(text));
  return `Sent to ${safeText(chat.labelOf(id))}.`;
}

/** Parses the text if it is a JSON object or array, else returns it as it is. */
function parseInput(text: string): JsonValue {
  if (!/^[[{]/u.test(text)) return text;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function promote({ chat }: JobCommandContext, [name]: readonly string[]): readonly string[] {
  const { waitedFor } = chat;
  const [only] = waitedFor;
  const callId = name === undefined ? only : chat.findCallId(name);
  if (callId === undefined) return ["No call is being waited for."];
  if (name === undefined && waitedFor.length > 1)
    return [`Several calls are running: ${waitedFor.map((id) => safeText(chat.labelOf(id))).join(", ")}. Choose one, such as /promote #3.`];
  if (chat.jobs.promote(callId)) return [];
  return [`${safeText(chat.labelOf(callId))} cannot go to the background: it has ended, is there already, or too many jobs run.`];
}
