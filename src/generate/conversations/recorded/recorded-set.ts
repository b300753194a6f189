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
import { endOf, recordedMessages, type RecordedEnd } from "./recorded-conversation.ts";
import type { RecordedPlan, RecordedSource } from "./recorded-plan.ts";
import { redactConversation, type Sensitive } from "./redact-conversation.ts";

interface Kept {
  readonly source: RecordedSource;
  readonly digest: string;
}

/** Number of recordings without a usable conversation, by reason. */
type LeftOut = Record<"cut off" | "without a user" | "duplicates", number>;

const MAX_TOLD = 5;

export class RecordedSet {
  /** A digest of all conversations, in order. */
  readonly digest: string;
  readonly notes: readonly string[];
  readonly tools: DerivedTools;
  readonly #plan: RecordedPlan;
  readonly #seed: string;
  readonly #kept: readonly Kept[];

  private constructor(plan: RecordedPlan, { seed, kept, digests, tools, leftOut }: ReadRecordings) {
    this.#plan = plan;
    this.#seed = seed;
    this.#kept = kept;
    this.tools = tools;
    this.digest = hash("sha256", digests.join());
    this.notes = [redactionNote(plan), ...notesOf(leftOut, plan)];
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
    const reader = new Reader(plan, seed);
    for (const source of plan.recordings) {
      if (signal?.aborted === true) throw new ToolError("cancelled", "The generation was stopped.", { cause: signal.reason });
      await reader.read(source);
    }
    return new RecordedSet(plan, reader.done());
  }

  get count(): number {
    return this.#kept.length;
  }

  /** Returns the conversation of an index, redacted. @throws ToolError `conflict` if the recording has changed meanwhile, as a rejection */
  async messages(index: number): Promise<readonly ModelMessage[]> {
    const kept = this.#kept[index];
    if (kept === undefined) return [];
    const messages = await recordedMessages(kept.source);
    if (digestOf(messages) !== kept.digest)
      throw new ToolError("conflict", `${kept.source.name} has changed since the generation began.`, {
        hint: "Start the generation again when nothing writes to that recording.",
      });
    return redacted(messages, this.#plan, { seed: this.#seed, index }).messages;
  }

  /** Returns the derived definitions of the tools that a conversation calls and that have no other definition. */
  derived(messages: readonly ModelMessage[], isKnown: (name: string) => boolean): readonly ModelTool[] {
    const called = new Set(messages.flatMap((message) => (message.role === "call" ? [message.call.name] : [])));
    return [...called].flatMap((name) => (isKnown(name) ? [] : (this.tools.get(name) ?? [])));
  }
}

interface ReadRecordings {
  readonly seed: string;
  readonly kept: readonly Kept[];
  readonly digests: readonly string[];
  readonly tools: DerivedTools;
  readonly leftOut: LeftOut;
}

class Reader {
  readonly #plan: RecordedPlan;
  readonly #seed: string;
  readonly #kept: Kept[] = [];
  /** The digests of all complete conversations, also beyond `count`, so that a later run can use more of them. */
  readonly #digests: string[] = [];
  readonly #keys = new ConversationKeys();
  readonly #tools = new DerivedTools();
  readonly #refused: { readonly name: string; readonly found: readonly Sensitive[] }[] = [];
  readonly #leftOut: LeftOut = { "cut off": 0, "without a user": 0, duplicates: 0 };

  constructor(plan: RecordedPlan, seed: string) {
    this.#plan = plan;
    this.#seed = seed;
  }

  async read(source: RecordedSource): Promise<void> {
    const messages = await recordedMessages(source);
    const left = this.#reasonToLeave(endOf(messages));
    if (left !== undefined) this.#leftOut[left]++;
    else if (!this.#keys.add({ messages: trajectoryMessages({ system: undefined, messages }) })) this.#leftOut.duplicates++;
    else {
      const digest = digestOf(messages);
      this.#digests.push(digest);
      if (this.#kept.length < (this.#plan.count ?? Infinity)) this.#keep(source, digest, messages);
    }
  }

  done(): ReadRecordings {
    if (this.#refused.length > 0) throw refusal(this.#refused, this.#plan);
    if (this.#kept.length === 0)
      throw new ToolError(
        "invalid_argument",
        `There is no complete conversation in ${plural(this.#plan.recordings.length, "recording")}.`,
        {
          details: notesOf(this.#leftOut, this.#plan),
          hint: "A conversation begins with a user's message, and ends with an answer.",
        },
      );
    return { seed: this.#seed, kept: this.#kept, digests: this.#digests, tools: this.#tools, leftOut: this.#leftOut };
  }

  #reasonToLeave(end: RecordedEnd): "cut off" | "without a user" | undefined {
    if (end === "without a user" || end === "cut off") return end;
    return end === "unanswered" && this.#plan.writer === undefined ? "cut off" : undefined;
  }

  #keep(source: RecordedSource, digest: string, messages: readonly ModelMessage[]): void {
    const { redact } = this.#plan;
    const { messages: changed, left } = redacted(messages, this.#plan, { seed: this.#seed, index: this.#kept.length });
    const found = redact === "none" ? [] : left.filter(({ kind }) => kind === "secrets" || redact === undefined);
    if (found.length > 0) this.#refused.push({ name: source.name, found });
    this.#kept.push({ source, digest });
    this.#tools.learn(changed);
  }
}

function redacted(
  messages: readonly ModelMessage[],
  { redact }: RecordedPlan,
  { seed, index }: { readonly seed: string; readonly index: number },
): ReturnType<typeof redactConversation> {
  return redactConversation(messages, { redact, random: seededRandom(`${seed}:${index}:redact`) });
}

function digestOf(messages: readonly ModelMessage[]): string {
  return hash("sha256", JSON.stringify(messages));
}

/** Lists what was found and where, never the values. */
function refusal(refused: readonly { readonly name: string; readonly found: readonly Sensitive[] }[], { redact }: RecordedPlan): ToolError {
  const all = refused.flatMap(({ name, found }) => found.map(({ what, message }) => `${name}: ${what} in message ${message}`));
  const more = all.length > MAX_TOLD ? [`and ${all.length - MAX_TOLD} more`] : [];
  const found = plural(refused.length, "recording");
  const kinds = redact === undefined ? "what looks like secrets or personal data" : "what looks like secrets";
  return new ToolError(
    "invalid_argument",
    `${found} with ${kinds}, but no choice of what to do with it: ${[...all.slice(0, MAX_TOLD), ...more].join("; ")}.`,
    {
      hint:
        'Replace it: redact: ["secrets", "emails", "phones", "names", "ids"], --redact all on the command line. ' +
        'Or accept it: redact: "none", --redact none.',
    },
  );
}

function redactionNote({ redact }: RecordedPlan): string {
  if (redact === undefined)
    return "Nothing was redacted, and nothing was found that looks like a secret, an e-mail address or a telephone number.";
  return redact === "none" ? "Nothing was redacted, as chosen." : `Redacted where they were found: ${redact.join(", ")}.`;
}

function notesOf(leftOut: LeftOut, { writer }: RecordedPlan): readonly string[] {
  const rows: readonly (readonly [count: number, reason: string])[] = [
    [leftOut["cut off"], writer === undefined ? "cut off before the last answer" : "cut off before their calls were answered"],
    [leftOut["without a user"], "without a user's message at the beginning"],
    [leftOut.duplicates, "the same as an earlier one"],
  ];
  return rows.flatMap(([count, reason]) => (count === 0 ? [] : [`Left out: ${plural(count, "recording")} ${reason}.`]));
}
