/** What the model of a loop says, the same for every contestant. */

export interface ScriptedCall {
  readonly id: string;
  readonly input: { readonly n: number; readonly note: string };
}

/** A piece of a message: of a call, its opening, its text and its closing with the whole text. */
export type Said =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "open"; readonly id: string }
  | { readonly type: "delta" | "close"; readonly id: string; readonly text: string };

export interface LoopScript {
  /** The calls of the next message; none = it says that it is done. */
  readonly next: () => readonly ScriptedCall[];
  /** The next message piece by piece. */
  readonly stream: () => AsyncGenerator<Said>;
  /** When each message was asked for. */
  readonly askedAt: readonly number[];
}

/** Every piece comes at its time. */
export interface Pace {
  /** Of the pieces of a call, in milliseconds. */
  readonly callMs: number;
  readonly pieces: number;
  /** Told the moment before a call is closed. */
  readonly onClose: (index: number) => void;
}

/** So many rounds of so many calls, then an answer. */
export function loopScript(rounds: number, calls: number, pace?: Pace): LoopScript {
  const askedAt: number[] = [];
  const next = (): readonly ScriptedCall[] => {
    const round = askedAt.push(performance.now());
    if (round > rounds) return [];
    return Array.from({ length: calls }, (_, n) => ({
      id: `c${round}_${n}`,
      input: { n, note: `what somebody says in round ${round}, as a sentence` },
    }));
  };
  return { next, askedAt, stream: () => say(next(), pace) };
}

async function* say(calls: readonly ScriptedCall[], pace: Pace | undefined): AsyncGenerator<Said> {
  if (calls.length === 0) yield { type: "text", text: "done" };
  const startedAt = performance.now();
  for (const [index, { id, input }] of calls.entries()) {
    const text = JSON.stringify(input);
    const pieces = pace?.pieces ?? 1;
    const chars = Math.ceil(text.length / pieces);
    yield { type: "open", id };
    for (let piece = 0; piece < pieces; piece++) {
      if (pace !== undefined) await until(startedAt + pace.callMs * (index + (piece + 1) / pieces));
      yield { type: "delta", id, text: text.slice(piece * chars, (piece + 1) * chars) };
    }
    pace?.onClose(index);
    yield { type: "close", id, text };
  }
}

/** Sleeps until then. */
export async function until(at: number): Promise<void> {
  for (let left = at - performance.now(); left > 0; left = at - performance.now())
    await new Promise((resolve) => setTimeout(resolve, left));
}
