/** Generates the conversation of an index from its recording: redacted, with injected faults, and with an answer at its end. */
import { seededRandom } from "../../../core/base/seeded-random.ts";
import { OWN_NAMESPACE, splitName } from "../../../core/call.ts";
import type { ModelMessage } from "../../../core/message.ts";
import type { ModelTool } from "../../../core/model.ts";
import type { Registry } from "../../../registry/registry.ts";
import { FaultPlayer } from "./fault-player.ts";
import { classifyEnd, getLastTurn } from "./recorded-conversation.ts";
import type { RecordedPlan } from "./recorded-plan.ts";
import { RecordedSet } from "./recorded-set.ts";

/** A conversation made from a recording, and its tools. */
export interface RecordedConversation {
  readonly messages: readonly ModelMessage[];
  /** The names of the called tools that the registry defines. */
  readonly needed: readonly string[];
  /** The called tools that are known only from their calls. */
  readonly tools: readonly ModelTool[];
}

interface RecordedMakerOptions {
  readonly seed: string;
  readonly signal: AbortSignal | undefined;
  readonly registry: Registry;
}

export class RecordedMaker {
  readonly set: RecordedSet;
  readonly #plan: RecordedPlan;
  readonly #registry: Registry;
  readonly #faults: FaultPlayer | undefined;

  private constructor(plan: RecordedPlan, set: RecordedSet, registry: Registry) {
    this.#plan = plan;
    this.set = set;
    this.#registry = registry;
    this.#faults = plan.faults === undefined ? undefined : new FaultPlayer(plan, { names: set.tools.names, registry });
  }

  /** @throws ToolError as `RecordedSet.read`, as a rejection */
  static async read(plan: RecordedPlan, { seed, signal, registry }: RecordedMakerOptions): Promise<RecordedMaker> {
    return new RecordedMaker(plan, await RecordedSet.read(plan, { seed, signal }), registry);
  }

  /** @throws ToolError if the recording has changed, a call fails every time, or the writer fails, as a rejection */
  async make(index: number, { draws, signal }: { readonly draws: string; readonly signal: AbortSignal }): Promise<RecordedConversation> {
    const recorded = await this.set.readConversation(index, signal);
    const played = (await this.#faults?.play(draws, recorded, { signal })) ?? recorded;
    const messages = await this.#withAnswer(played, { draws, signal });
    const isDefined = (name: string): boolean => splitName(name).namespace !== OWN_NAMESPACE && this.#registry.get(name) !== undefined;
    const called = messages.flatMap((message) => (message.role === "call" ? [message.call.name] : []));
    return { messages, needed: called.filter(isDefined), tools: this.set.deriveTools(messages, isDefined) };
  }

  async close(): Promise<void> {
    await this.#faults?.close();
  }

  async #withAnswer(
    messages: readonly ModelMessage[],
    { draws, signal }: { readonly draws: string; readonly signal: AbortSignal },
  ): Promise<readonly ModelMessage[]> {
    const { writer } = this.#plan;
    if (writer === undefined || classifyEnd(messages) !== "unanswered") return messages;
    signal.throwIfAborted();
    const turn = getLastTurn(messages, (name) => this.#registry.get(name)?.tool);
    const content = await writer.answer(turn, { random: seededRandom(draws), signal });
    return [...messages, { role: "assistant", at: 0, content }];
  }
}
