/** How each peer runs a loop over a model in process that says what it is told to, by its own public API: at once or piece by piece. */
import { Agent as MastraAgent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { Agent, Runner, Usage, setTracingDisabled, tool as openAiTool, user } from "@openai/agents";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { tool as langChainTool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { generateText, isStepCount, streamText, tool as aiTool } from "ai";
import { z } from "zod";
import { loopScript, type LoopScript, type Said } from "./loop-script.ts";
import type { Contestant } from "./measure.ts";

/** A peer with the one tool of the loop, `wait({ n, note })`. */
export interface PeerLoop {
  readonly name: string;
  /** By what it is run: at once, and as a stream. */
  readonly notes: { readonly whole: string; readonly stream: string };
  /** Plays the script to its end: at once, or as a stream. `history` is how many results of earlier calls the model is shown. */
  readonly run: (script: LoopScript, how: { readonly stream: boolean; readonly history?: number }) => Promise<unknown>;
}

export type Wait = (input: { readonly n: number }) => Promise<unknown>;

const MANY = 10_000;
const INPUT_SCHEMA = z.object({ n: z.number(), note: z.string() });
const TOLD = { name: "wait", description: "Waits." };

export function peerLoops(wait: Wait): readonly PeerLoop[] {
  return [aiSdkLoop(wait), mastraLoop(wait), openAiLoop(wait), langGraphLoop(wait)];
}

const USAGE = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };

/** A model of the AI SDK's specification; Mastra takes it too. */
function languageModel(script: LoopScript): object {
  const finish = (calls: number): object => (calls === 0 ? { unified: "stop", raw: "stop" } : { unified: "tool-calls", raw: "tool_calls" });
  return {
    specificationVersion: "v4",
    provider: "memory",
    modelId: "memory",
    supportedUrls: {},
    async doGenerate() {
      const calls = script.next();
      const content = calls.map(({ id, input }) => ({
        type: "tool-call",
        toolCallId: id,
        toolName: "wait",
        input: JSON.stringify(input),
      }));
      return {
        content: calls.length === 0 ? [{ type: "text", text: "done" }] : content,
        finishReason: finish(calls.length),
        usage: USAGE,
        warnings: [],
      };
    },
    async doStream() {
      return { stream: ReadableStream.from(parts(script)) };
    },
  };

  async function* parts({ stream }: LoopScript): AsyncGenerator<object> {
    let calls = 0;
    yield { type: "stream-start", warnings: [] };
    for await (const said of stream()) {
      if (said.type === "text") {
        yield { type: "text-start", id: "t" };
        yield { type: "text-delta", id: "t", delta: said.text };
        yield { type: "text-end", id: "t" };
      } else if (said.type === "open") {
        calls++;
        yield { type: "tool-input-start", id: said.id, toolName: "wait" };
      } else if (said.type === "delta") yield { type: "tool-input-delta", id: said.id, delta: said.text };
      else {
        yield { type: "tool-input-end", id: said.id };
        yield { type: "tool-call", toolCallId: said.id, toolName: "wait", input: said.text };
      }
    }
    yield { type: "finish", finishReason: finish(calls), usage: USAGE };
  }
}

/** A conversation in the AI SDK's words, which Mastra takes too. */
function coreMessages(results: number): object[] {
  const rounds = Array.from({ length: results / 4 }, (_, round) =>
    [0, 1, 2, 3].map((n) => ({ toolCallId: `h${round}_${n}`, toolName: "wait", n })),
  );
  return [
    { role: "user", content: "go" },
    ...rounds.flatMap((calls) => [
      {
        role: "assistant",
        content: calls.map(({ n, ...call }) => ({ type: "tool-call", ...call, input: { n, note: "" } })),
      },
      {
        role: "tool",
        content: calls.map(({ n, ...call }) => ({ type: "tool-result", ...call, output: { type: "json", value: { n } } })),
      },
    ]),
  ];
}

function aiSdkLoop(wait: Wait): PeerLoop {
  const tools = { wait: aiTool({ description: TOLD.description, inputSchema: INPUT_SCHEMA, execute: wait }) };
  return {
    name: "AI SDK 7",
    notes: { whole: "generateText", stream: "streamText" },
    async run(script, { stream, history = 0 }) {
      const options = {
        model: languageModel(script) as never,
        messages: coreMessages(history) as never,
        tools,
        stopWhen: isStepCount(MANY),
      };
      if (stream) await streamText(options).consumeStream();
      else await generateText(options);
    },
  };
}

/** One message with one call, as the first step of a conversation. */
export function aiSdkMessage(wait: Wait): Contestant {
  const tools = { wait: aiTool({ description: TOLD.description, inputSchema: INPUT_SCHEMA, execute: wait }) };
  return {
    name: "AI SDK 7",
    note: "generateText, one step",
    run: () => generateText({ model: languageModel(loopScript(1, 1)) as never, prompt: "go", tools, stopWhen: isStepCount(1) }),
  };
}

function mastraLoop(wait: Wait): PeerLoop {
  const tool = createTool({ id: "wait", description: TOLD.description, inputSchema: INPUT_SCHEMA, execute: wait });
  return {
    name: "Mastra",
    notes: { whole: "Agent.generate", stream: "Agent.stream, which starts tools early" },
    async run(script, { stream, history = 0 }) {
      const model = languageModel(script) as never;
      const agent = new MastraAgent({ id: "a", name: "a", instructions: "d", model, tools: { wait: tool } });
      const messages = coreMessages(history) as never;
      if (stream) await (await agent.stream(messages, { maxSteps: MANY })).consumeStream();
      else await agent.generate(messages, { maxSteps: MANY });
    },
  };
}

function openAiLoop(wait: Wait): PeerLoop {
  setTracingDisabled(true);
  const tool = openAiTool({ ...TOLD, parameters: INPUT_SCHEMA, execute: wait });
  const runner = new Runner({ tracingDisabled: true });
  const called = (id: string, text: string): object => ({
    type: "function_call",
    callId: id,
    name: "wait",
    arguments: text,
    status: "completed",
  });
  const told = { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done" }] };
  const outputOf = (calls: readonly object[]): readonly object[] => (calls.length === 0 ? [told] : calls);
  const modelOf = (script: LoopScript): object => ({
    getResponse: async () => ({
      usage: new Usage(),
      output: outputOf(script.next().map(({ id, input }) => called(id, JSON.stringify(input)))),
    }),
    async *getStreamedResponse() {
      const calls: object[] = [];
      yield { type: "response_started" };
      for await (const said of script.stream()) {
        if (said.type === "close") calls.push(called(said.id, said.text));
        yield { type: "model", event: said };
      }
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      yield { type: "response_done", response: { id: "r", usage, output: outputOf(calls) } };
    },
  });
  return {
    name: "OpenAI Agents",
    notes: { whole: "Runner.run", stream: "Runner.run, streamed" },
    async run(script, { stream, history = 0 }) {
      const agent = new Agent({ name: "a", instructions: "d", tools: [tool], model: modelOf(script) as never });
      const input = [user("go"), ...Array.from({ length: history }, (_, n) => n).flatMap((n) => answeredCall(n))] as never;
      if (stream) await (await runner.run(agent, input, { stream: true, maxTurns: MANY })).completed;
      else await runner.run(agent, input, { maxTurns: MANY });
    },
  };

  function answeredCall(n: number): readonly object[] {
    const answer = {
      type: "function_call_result",
      callId: `h${n}`,
      name: "wait",
      status: "completed",
      output: { type: "text", text: `{"n":${n}}` },
    };
    return [called(`h${n}`, `{"n":${n},"note":""}`), answer];
  }
}

class ScriptedChat extends BaseChatModel {
  readonly #script: LoopScript;

  constructor(script: LoopScript) {
    super({});
    this.#script = script;
  }

  _llmType(): string {
    return "scripted";
  }

  override bindTools(): never {
    return this as never;
  }

  async _generate(): Promise<never> {
    const calls = this.#script.next().map(({ id, input }) => ({ id, name: "wait", args: input, type: "tool_call" as const }));
    const text = calls.length === 0 ? "done" : "";
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls: calls }) }] } as never;
  }

  override async *_streamResponseChunks(): AsyncGenerator<ChatGenerationChunk> {
    let index = -1;
    for await (const said of this.#script.stream()) {
      if (said.type === "open") index++;
      yield chunkOf(said, index);
    }
  }
}

function chunkOf(said: Said, index: number): ChatGenerationChunk {
  if (said.type === "text") return new ChatGenerationChunk({ text: said.text, message: new AIMessageChunk(said.text) });
  const piece = said.type === "open" ? { id: said.id, name: "wait", args: "" } : { args: said.type === "delta" ? said.text : "" };
  const message = new AIMessageChunk({ content: "", tool_call_chunks: [{ ...piece, index, type: "tool_call_chunk" }] });
  return new ChatGenerationChunk({ text: "", message });
}

function langGraphLoop(wait: Wait): PeerLoop {
  const tool = langChainTool((input: { n: number }) => wait(input), { ...TOLD, schema: INPUT_SCHEMA });
  return {
    name: "LangGraph",
    notes: { whole: "createReactAgent, invoke", stream: "createReactAgent, stream" },
    async run(script, { stream, history = 0 }) {
      const agent = createReactAgent({ llm: new ScriptedChat(script), tools: [tool] });
      const past = Array.from({ length: history / 4 }, (_, round) => pastRound(round)).flat();
      const messages = [new HumanMessage("go"), ...past];
      const options = { recursionLimit: MANY };
      if (!stream) return agent.invoke({ messages }, options);
      for await (const _ of await agent.stream({ messages }, { ...options, streamMode: "messages" }));
      return undefined;
    },
  };
}

function pastRound(round: number): readonly (AIMessage | ToolMessage)[] {
  const calls = [0, 1, 2, 3].map((n) => ({ id: `h${round}_${n}`, name: "wait", args: { n, note: "" }, type: "tool_call" as const }));
  return [
    new AIMessage({ content: "", tool_calls: calls }),
    ...calls.map(({ id, args }) => new ToolMessage({ content: JSON.stringify(args), tool_call_id: id, name: "wait" })),
  ];
}
