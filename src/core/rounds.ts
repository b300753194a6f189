/** Groups the entries of a conversation by the message of the model that they belong to. */
import type { CallMessage, JobMessage, ModelMessage, SessionMessage } from "./message.ts";

type SpokenMessage = SessionMessage & { readonly at: number };

/** One message of the model: its text, if any, and its calls; or a message of a person or a program. */
export type ConversationRound =
  | { readonly by: "assistant"; readonly message: SpokenMessage | undefined; readonly calls: readonly CallMessage[] }
  | { readonly by: Exclude<SpokenMessage["role"], "assistant">; readonly message: SpokenMessage }
  | { readonly by: "job"; readonly message: JobMessage & { readonly at: number } };

interface OpenRound {
  readonly by: "assistant";
  readonly message: SpokenMessage | undefined;
  readonly calls: CallMessage[];
}

/**
 * Assigns calls to the model message that made them, in order.
 *
 * Calls belong to one message if nothing but results of earlier messages' calls is between them and their turn is the same; the assistant's text
 * directly before them belongs to it too. A second call with the same id is dropped. Results are not included.
 */
export function groupRounds(messages: readonly ModelMessage[]): readonly ConversationRound[] {
  const groups = new RoundGrouper();
  for (const message of messages) groups.add(message);
  return groups.rounds;
}

/** Like `groupRounds`, for a conversation that grows: only the last round may still change. */
export class RoundGrouper {
  readonly rounds: ConversationRound[] = [];
  readonly #roundByCall = new Map<string, OpenRound>();
  #open: OpenRound | undefined;

  add(message: ModelMessage): void {
    if (message.role === "result") {
      if (this.#open !== undefined && this.#roundByCall.get(message.callId) === this.#open) this.#open = undefined;
    } else if (message.role === "call") {
      this.#addCall(message);
    } else if (message.role === "assistant") {
      this.#openRound(message);
    } else {
      this.#open = undefined;
      this.rounds.push(message.role === "job" ? { by: message.role, message } : { by: message.role, message });
    }
  }

  #addCall(message: CallMessage): void {
    if (this.#roundByCall.has(message.callId)) return;
    const [first] = this.#open?.calls ?? [];
    const round =
      this.#open === undefined || (first !== undefined && first.turnId !== message.turnId) ? this.#openRound(undefined) : this.#open;
    round.calls.push(message);
    this.#roundByCall.set(message.callId, round);
  }

  #openRound(message: SpokenMessage | undefined): OpenRound {
    const round: OpenRound = { by: "assistant", message, calls: [] };
    this.#open = round;
    this.rounds.push(round);
    return round;
  }
}
