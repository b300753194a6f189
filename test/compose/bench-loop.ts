/** A loop over a scripted model and a runtime on fake ports, for the tests of this folder. */
import type { Model, ModelEvent, ModelReply, ModelRequest } from "../../src/core/model.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { resultText, type ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createLoop, type Loop } from "../../src/compose/loop.ts";
import type { LoopEvent } from "../../src/compose/loop-event.ts";
import type { LoopOptions } from "../../src/compose/loop-options.ts";
import { scriptedModel, type ReplyScript, type ScriptedModel } from "../../src/model/scripted-model.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { FakePorts } from "../../src/testing/fake-ports.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

export interface TestLoop {
  readonly loop: Loop;
  readonly model: ScriptedModel;
  readonly session: RuntimeSession;
  readonly ports: FakePorts;
  readonly events: LoopEvent[];
}

export interface TestLoopOptions extends Omit<Partial<LoopOptions>, "tools"> {
  readonly script: ReplyScript;
  readonly tools?: readonly Tool[];
  readonly runtime?: RuntimeOptions;
}

export function testLoop({ script, tools = [], runtime: runtimeOptions, ...options }: TestLoopOptions): TestLoop {
  const { runtime, ports } = testRuntime({ tools, ...runtimeOptions });
  const session = options.session ?? runtime.session("s");
  const model = scriptedModel(script, { clock: ports.clock });
  const events: LoopEvent[] = [];
  const loop = createLoop({ model, session, onEvent: (event) => events.push(event), ...options });
  return { loop, model, session, ports, events };
}

/** Results in short: the tool's own name, and its answer or the code of its error. */
export function brief(results: readonly ToolResult[]): readonly string[] {
  return results.map((result) => `${result.name.split("::").at(-1)}: ${result.error?.code ?? resultText(result)}`);
}

/** A conversation in short, one line a message. */
export function lines(messages: readonly ModelMessage[]): readonly string[] {
  return messages.map((message) => {
    if (message.role === "call") return `call ${message.call.name}`;
    if (message.role === "result") return `result ${message.result.error?.code ?? resultText(message.result)}`;
    return `${message.role} ${typeof message.content === "string" ? message.content : "parts"}`;
  });
}

/** What the model was told by the loop itself. */
export function notes(request: ModelRequest | undefined): readonly string[] {
  return (request?.messages ?? []).flatMap((message) =>
    message.role === "system" && typeof message.content === "string" ? [message.content] : [],
  );
}

/** The end of a message, of which only this much is said. */
export function replyEnd(more: Partial<ModelReply> = {}): ModelEvent {
  const empty = { text: "", reasoning: "", media: [], calls: [], providerCalls: [], finish: "stop" } as const;
  return { type: "reply-end", reply: { ...empty, usage: { inputTokens: 3, outputTokens: 1 }, ...more } };
}

/** A model that says these events and nothing else, however wrong they are. */
export function saidBy(events: (request: ModelRequest, index: number) => readonly ModelEvent[]): Model {
  let requests = 0;
  return {
    name: "said",
    async *stream(request) {
      yield* events(request, requests++);
    },
  };
}
