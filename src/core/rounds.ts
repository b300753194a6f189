/** Which entries of a conversation are one message of the model. */
import type { CallMessage, ModelMessage, SessionMessage } from "./message.ts";

type Spoken = SessionMessage & { readonly at: number };

/** One message of the model: what it said, if anything, and the calls it made; or a message of somebody else. */
export type Round =
  | { readonly by: "assistant"; readonly said: Spoken | undefined; readonly calls: readonly CallMessage[] }
  | { readonly by: Exclude<Spoken["role"], "assistant">; readonly said: Spoken };

interface OpenRound {
  readonly by: "assistant";
  readonly said: Spoken | undefined;
  readonly calls: CallMessage[];
}

/**
 * Puts calls to the message of the model that made them, in the order they stand in.
 *
 * Calls belong to one message when nothing but results of earlier messages' calls stands between them and their turn is the same; what the
 * assistant said right before them belongs to it too. A second call of the same id is left out. Results are for the caller to find.
 */
export function groupRounds(messages: readonly ModelMessage[]): readonly Round[] {
  const rounds: Round[] = [];
  const makers = new Map<string, OpenRound>();
  let open: OpenRound | undefined;
  const begin = (said?: Spoken): OpenRound => {
    open = { by: "assistant", said, calls: [] };
    rounds.push(open);
    return open;
  };
  for (const message of messages) {
    if (message.role === "result") {
      if (open !== undefined && makers.get(message.callId) === open) open = undefined;
    } else if (message.role === "call") {
      if (makers.has(message.callId)) continue;
      const [first] = open?.calls ?? [];
      const round = open === undefined || (first !== undefined && first.turnId !== message.turnId) ? begin() : open;
      round.calls.push(message);
      makers.set(message.callId, round);
    } else if (message.role === "assistant") {
      begin(message);
    } else {
      open = undefined;
      rounds.push({ by: message.role, said: message });
    }
  }
  return rounds;
}
