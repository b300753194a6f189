/** Asks a model and keeps what it says, and what it throws. */
import { onTestFinished } from "vitest";
import { ToolError, type ErrorInfo } from "../../src/core/error.ts";
import type { Model, ModelEvent, ModelOptions, ModelReply, ModelRequest } from "../../src/core/model.ts";
import type { ModelPorts } from "../../src/model/model-ports.ts";
import { startProviderServer, type ProviderServer, type ProviderServerOptions } from "./provider-server.ts";

export const KEY = "sk-canary-4f1d9b7e2c";

export const QUESTION: ModelRequest = { messages: [{ role: "user", at: 0, content: "How is the weather?" }] };

export interface Heard {
  readonly events: readonly ModelEvent[];
  readonly reply: ModelReply | undefined;
  readonly error: ErrorInfo | undefined;
  /** Everything that anybody could read of the error: its stack, its causes. */
  readonly trace: string;
}

export async function listen(model: Model, request: ModelRequest = QUESTION, options: ModelOptions = {}): Promise<Heard> {
  const events: ModelEvent[] = [];
  const reply = (): ModelReply | undefined => {
    const last = events.at(-1);
    return last?.type === "reply-end" ? last.reply : undefined;
  };
  try {
    for await (const event of model.stream(request, options)) events.push(event);
    return { events, reply: reply(), error: undefined, trace: "" };
  } catch (thrown: unknown) {
    return { events, reply: reply(), error: ToolError.fromUnknown(thrown).toJSON(), trace: traceOf(thrown) };
  }
}

function traceOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.stack ?? ""} ${JSON.stringify(thrown)} ${traceOf(thrown.cause)}` : String(thrown);
}

/** A server that is closed after the test. */
export async function serve(options: ProviderServerOptions): Promise<ProviderServer> {
  const server = await startProviderServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** Waits take no time; each is written down. */
export function hasty(): { readonly waits: number[]; readonly ports: ModelPorts } {
  const waits: number[] = [];
  const clock: ModelPorts["clock"] = {
    now: () => 0,
    wallTime: () => Date.UTC(2026, 0, 1),
    timer(fire, delayMs, options) {
      if (delayMs >= 100_000 || options?.background === true) return () => undefined; // a limit that is not reached
      waits.push(delayMs);
      const handle = setImmediate(fire);
      return () => clearImmediate(handle);
    },
  };
  return { waits, ports: { clock, random: { next: () => 0.5 } } };
}
