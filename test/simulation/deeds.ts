/** What a handler is told to do by its input: the seed decides, never the handler. */
import type { ToolContext } from "../../src/core/context.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Clock } from "../../src/core/ports.ts";

export const DEEDS = [
  "now",
  "wait",
  "early",
  "throw",
  "throw after",
  "flaky",
  "limited",
  "unknown",
  "never",
  "late",
  "late throw",
  "obey",
  "broken",
] as const;
export type Deed = (typeof DEEDS)[number];

export interface Order {
  /** Tells this call from all others; the same text for those of cached tools, which are meant to be equal. */
  readonly tag: string;
  readonly key: string;
  readonly deed: Deed;
  readonly ms: number;
  /** How many attempts fail first. */
  readonly failures: number;
}

export const KEYS = ["a", "b", "c"] as const;
export const TIMEOUT_MS = 60;

export const ORDER_SCHEMA = {
  type: "object",
  properties: {
    tag: { type: "string" },
    key: { enum: KEYS },
    deed: { enum: DEEDS },
    ms: { type: "integer", minimum: 0, maximum: 1_000 },
    failures: { type: "integer", minimum: 0, maximum: 9 },
  },
  required: ["tag", "key", "deed", "ms", "failures"],
  additionalProperties: false,
} as const;

export const ANSWER_SCHEMA = {
  type: "object",
  properties: { tag: { type: "string" }, key: { type: "string" }, version: { type: "integer" } },
  required: ["tag", "key", "version"],
} as const;

export interface Work {
  readonly clock: Clock;
  /** What the tool does, and what it answers. */
  effect(): Readonly<Record<string, unknown>>;
  /** The handler comes to its end, whether or not anybody waits for it. */
  leave(): void;
}

/** Does as ordered. */
export function perform({ deed, ms, failures }: Order, context: ToolContext, work: Work): unknown {
  const finish = (end: () => unknown): unknown => {
    try {
      return end();
    } finally {
      work.leave();
    }
  };
  const after = (delayMs: number, end: () => unknown): Promise<unknown> =>
    new Promise<void>((resolve) => work.clock.timer(resolve, delayMs)).then(() => finish(end));
  const failing = (error: ToolError): never => {
    throw error;
  };
  switch (deed) {
    case "now":
      return finish(work.effect);
    case "wait":
      return after(ms, work.effect);
    case "early":
      return early(work, (answer) => after(ms, () => answer));
    case "throw":
      return after(ms, () => failing(new ToolError("execution_failed", "as ordered", { outcome: "failed" })));
    case "throw after":
      return after(ms, () => (work.effect(), failing(new ToolError("execution_failed", "after it was done"))));
    case "flaky":
      return after(ms, () => (context.attempt <= failures ? failing(NOT_STARTED()) : work.effect()));
    case "limited":
      return after(ms, () => (context.attempt <= failures ? failing(LIMITED()) : work.effect()));
    case "unknown":
      return after(ms, () => {
        const answer = work.effect();
        return context.attempt <= failures ? failing(UNKNOWN()) : answer;
      });
    case "never":
      return new Promise(() => {});
    case "late":
      return after(TIMEOUT_MS + ms, work.effect);
    case "late throw":
      return after(TIMEOUT_MS + ms, () => failing(new ToolError("network_error", "too late")));
    case "obey":
      return new Promise((_resolve, reject) => {
        context.signal.addEventListener("abort", () => finish(() => reject(new ToolError("cancelled", "obeyed"))));
      });
    case "broken":
      return after(ms, () => ({ ...work.effect(), version: "not a number" }));
  }
}

/** Does it at once and answers later; one that the world refuses has ended then. */
function early(work: Work, answerLater: (answer: unknown) => unknown): unknown {
  try {
    return answerLater(work.effect());
  } catch (thrown: unknown) {
    work.leave();
    throw thrown;
  }
}

const NOT_STARTED = (): ToolError => new ToolError("network_error", "reset before it was sent", { outcome: "not_started" });
const LIMITED = (): ToolError => new ToolError("rate_limited", "too many", { outcome: "not_started", retryAfterMs: 15, retryable: true });
const UNKNOWN = (): ToolError => new ToolError("network_error", "reset after it was sent", { outcome: "unknown" });
