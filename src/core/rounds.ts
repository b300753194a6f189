/** Groups the entries of a conversation by the message of the model that they belong to. */
import type { CallMessage, JobMessage, ModelMessage, SessionMessage } from "./message.ts";

type Spoken = SessionMessage & { readonly at: number };

/** One message of the model: its text, if any, and its calls; or a message of a person or a program. */
export type ConversationRound =
  | { readonly by: "assistant"; readonly said: Spoken | undefined; readonly calls: readonly CallMessage[] }
  | { readonly by: Exclude<Spoken["role"], "assistant">; readonly said: Spoken }
  | { readonly by: "job"; readonly said: JobMessage & { readonly at: number } };

interface OpenRound {
  readonly by: "assistant";
  readonly said: Spoken | undefined;
  readonly calls: CallMessage[];
}

/**
 * Assigns calls to the model message that made them, in order.
 *
 * Calls belong to one message if nothing but results of earlier messages' calls is between them and their turn is the same; the assistant's text
 * directly before them belongs to it too. A second call with the same id is dropped. Results are not included.
 */
export function groupRounds(messages: readonly ModelMessage[]): readonly ConversationRound[] {
  const groups = new RoundGroups();
  for (const message of messages) groups.add(message);
  return groups.rounds;
}

/** Like `groupRounds`, for a conversation that grows: only the last round may still change. */
export class RoundGroups {
  readonly rounds: ConversationRound[] = [];
  readonly #makers = new Map<string, OpenRound>();
  #open: OpenRound | undefined;

  add(message: ModelMessage): void {
    if (message.role === "result") {
      if (this.#open !== undefined && this.#makers.get(message.callId) === this.#open) this.#open = undefined;
    } else if (message.role === "call") {
      this.#addCall(message);
    } else if (message.role === "assistant") {
      this.#begin(message);
    } else {
      this.#open = undefined;
      this.rounds.push(message.role === "job" ? { by: message.role, said: message } : { by: message.role, said: message });
    }
  }

  #addCall(message: CallMessage): void {
    if (this.#makers.has(message.callId)) return;
    const [first] = this.#open?.calls ?? [];
    const round =
      this.#open === undefined || (first !== undefined && first.turnId !== message.turnId) ? this.#begin(undefined) : this.#open;
    round.calls.push(message);
    this.#makers.set(message.callId, round);
  }

  #begin(said: Spoken | undefined): OpenRound {
    const round: OpenRound = { by: "assistant", said, calls: [] };
    this.#open = round;
    this.rounds.push(round);
    return round;
  }
}
