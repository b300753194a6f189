/** The recorded conversations of a plan. All are read once before anything is written, and each again when it is written. */
import { hash } from "node:crypto";
import { ToolError } from "../../../core/error.ts";
import { plural } from "../../../core/base/wording.ts";
import { seededRandom } from "../../../core/base/seeded-random.ts";
import type { ModelMessage } from "../../../core/message.ts";
import type { ModelTool } from "../../../core/model.ts";
import { trajectoryMessages } from "../trajectory.ts";
import { ConversationKeys } from "../conversation-keys.ts";
import { DerivedTools } from "./derived-tools.ts";
import { classifyEnd, readMessages, type RecordedEnd } from "./recorded-conversation.ts";
import type { RecordedPlan, RecordedSource } from "./recorded-plan.ts";
import { redactConversation, type SensitiveValue } from "./redact-conversation.ts";

interface SelectedRecording {
  readonly source: RecordedSource;
  readonly digest: string;
}

/** Number of recordings without a usable conversation, by reason. */
type OmittedCounts = Record<"cut off" | "without a user" | "duplicates", number>;

const MAX_LISTED = 5;

export class RecordedSet {
  /** A digest of all conversations, in order. */
  readonly digest: string;
  readonly notes: readonly string[];
  readonly tools: DerivedTools;
  readonly #plan: RecordedPlan;
  readonly #seed: string;
  readonly #selected: readonly SelectedRecording[];

  private constructor(plan: RecordedPlan, { seed, selected, digests, tools, omitted }: ReadRecordings) {
    this.#plan = plan;
    this.#seed = seed;
    this.#selected = selected;
    this.tools = tools;
    this.digest = hash("sha256", digests.join());
    this.notes = [formatRedactionNote(plan), ...formatOmissionNotes(omitted, plan)];
  }

  /**
   * Reads every recording.
   *
   * @throws ToolError `corrupt_record` for a damaged one, with the position; `invalid_argument` for one with secrets if `redact` does not say what to
   * do with them, and if there is no complete conversation, as a rejection
   */
  static async read(
    plan: RecordedPlan,
    { seed, signal }: { readonly seed: string; readonly signal: AbortSignal | undefined },
  ): Promise<RecordedSet> {
    const reader = new RecordingReader(plan, seed);
    for (const source of plan.recordings) {
      await reader.read(source, signal);
    }
    return new RecordedSet(plan, reader.finish());
  }

  get count(): number {
    return this.#selected.length;
  }

  /** Returns the conversation of an index, redacted. @throws ToolError `conflict` if the recording has changed meanwhile, as a rejection */
  async readConversation(index: number, signal: AbortSignal): Promise<readonly ModelMessage[]> {
    const selected = this.#selected[index];
    if (selected === undefined) return [];
    const messages = await readMessages(selected.source, signal);
    if (hashMessages(messages) !== selected.digest)
      throw new ToolError("conflict", `${selected.source.name} has changed since the generation began.`, {
        hint: "Start the generation again when nothing writes to that recording.",
      });
    return redactMessages(messages, this.#plan, { seed: this.#seed, index }).messages;
  }

  /** Returns the derived definitions of the tools that a conversation calls and that have no other definition. */
  deriveTools(messages: readonly ModelMessage[], isKnown: (name: string) => boolean): readonly ModelTool[] {
    const called = new Set(messages.flatMap((message) => (message.role === "call" ? [message.call.name] : [])));
    return [...called].flatMap((name) => (isKnown(name) ? [] : (this.tools.get(name) ?? [])));
  }
}

interface ReadRecordings {
  readonly seed: string;
  readonly selected: readonly SelectedRecording[];
  readonly digests: readonly string[];
  readonly tools: DerivedTools;
  readonly omitted: OmittedCounts;
}

class RecordingReader {
  readonly #plan: RecordedPlan;
  readonly #seed: string;
  readonly #selected: SelectedRecording[] = [];
  /** The digests of all complete conversations, also beyond `count`, so that a later run can use more of them. */
  readonly #digests: string[] = [];
  readonly #keys = new ConversationKeys();
  readonly #tools = new DerivedTools();
  readonly #refused: { readonly name: string; readonly found: readonly SensitiveValue[] }[] = [];
  readonly #omitted: OmittedCounts = { "cut off": 0, "without a user": 0, duplicates: 0 };

  constructor(plan: RecordedPlan, seed: string) {
    this.#plan = plan;
    this.#seed = seed;
  }

  async read(source: RecordedSource, signal: AbortSignal | undefined): Promise<void> {
    const messages = await readMessages(source, signal);
    const left = this.#findOmissionReason(classifyEnd(messages));
    if (left !== undefined) this.#omitted[left]++;
    else if (!this.#keys.add({ messages: trajectoryMessages({ system: undefined, messages }) })) this.#omitted.duplicates++;
    else {
      const digest = hashMessages(messages);
      this.#digests.push(digest);
      if (this.#selected.length < (this.#plan.count ?? Infinity)) this.#select(source, digest, messages);
    }
  }

  finish(): ReadRecordings {
    if (this.#refused.length > 0) throw sensitiveDataError(this.#refused, this.#plan);
    if (this.#selected.length === 0)
      throw new ToolError(
        "invalid_argument",
        `There is no complete conversation in ${plural(this.#plan.recordings.length, "recording")}.`,
        {
          details: formatOmissionNotes(this.#omitted, this.#plan),
          hint: "A conversation begins with a user's message, and ends with an answer.",
        },
      );
    return { seed: this.#seed, selected: this.#selected, digests: this.#digests, tools: this.#tools, omitted: this.#omitted };
  }

  #findOmissionReason(end: RecordedEnd): "cut off" | "without a user" | undefined {
    if (end === "without a user" || end === "cut off") return end;
    return end === "unanswered" && this.#plan.writer === undefined ? "cut off" : undefined;
  }

  #select(source: RecordedSource, digest: string, messages: readonly ModelMessage[]): void {
    const { redact } = this.#plan;
    const { messages: changed, unredacted } = redactMessages(messages, this.#plan, { seed: this.#seed, index: this.#selected.length });
    const found = redact === "none" ? [] : unredacted.filter(({ kind }) => kind === "secrets" || redact === undefined);
    if (found.length > 0) this.#refused.push({ name: source.name, found });
    this.#selected.push({ source, digest });
    this.#tools.addCalls(changed);
  }
}

function redactMessages(
  messages: readonly ModelMessage[],
  { redact }: RecordedPlan,
  { seed, index }: { readonly seed: string; readonly index: number },
): ReturnType<typeof redactConversation> {
  return redactConversation(messages, { redact, random: seededRandom(`${seed}:${index}:redact`) });
}

function hashMessages(messages: readonly ModelMessage[]): string {
  return hash("sha256", JSON.stringify(messages));
}

/** Lists what was found and where, never the values. */
function sensitiveDataError(
  refused: readonly { readonly name: string; readonly found: readonly SensitiveValue[] }[],
  { redact }: RecordedPlan,
): ToolError {
  const all = refused.flatMap(({ name, found }) => found.map(({ what, message }) => `${name}: ${what} in message ${message}`));
  const more = all.length > MAX_LISTED ? [`and ${all.length - MAX_LISTED} more`] : [];
  const found = plural(refused.length, "recording");
  const kinds = redact === undefined ? "what looks like secrets or personal data" : "what looks like secrets";
  return new ToolError(
    "invalid_argument",
    `${found} with ${kinds}, but no choice of what to do with it: ${[...all.slice(0, MAX_LISTED), ...more].join("; ")}.`,
    {
      hint:
        'Replace it: redact: ["secrets", "emails", "phones", "names", "ids"], --redact all on the command line. ' +
        'Or accept it: redact: "none", --redact none.',
    },
  );
}

function formatRedactionNote({ redact }: RecordedPlan): string {
  if (redact === undefined)
    return "Nothing was redacted, and nothing was found that looks like a secret, an e-mail address or a telephone number.";
  return redact === "none" ? "Nothing was redacted, as chosen." : `Redacted where they were found: ${redact.join(", ")}.`;
}

function formatOmissionNotes(omitted: OmittedCounts, { writer }: RecordedPlan): readonly string[] {
  const rows: readonly (readonly [count: number, reason: string])[] = [
    [omitted["cut off"], writer === undefined ? "cut off before the last answer" : "cut off before their calls were answered"],
    [omitted["without a user"], "without a user's message at the beginning"],
    [omitted.duplicates, "the same as an earlier one"],
  ];
  return rows.flatMap(([count, reason]) => (count === 0 ? [] : [`Left out: ${plural(count, "recording")} ${reason}.`]));
}
