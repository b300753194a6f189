/** Gives tools to a model without tool calls: they are described in its prompt, and its calls are read from its text. */
import { pushAll } from "../core/collections/push-all.ts";
import { checkModel } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { CallMessage, ModelMessage } from "../core/message.ts";
import type { Model, ModelEvent, ModelOptions, ModelReply, ModelRequest, ModelTool, ToolChoice } from "../core/model.ts";
import { answerText, conversationSteps, type AssistantStep } from "../wire/conversation-steps.ts";
import { textFormat } from "../wire/text/formats.ts";
import type { DecodeTextOptions, TextDecoding, TextFormat, WrittenCall } from "../wire/text/text-format.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/** How the calls of a model without tool calls are written and read. */
export interface TextToolsOptions extends Pick<DecodeTextOptions, "thinking" | "unknownTools" | "bodyArguments" | "maxChars"> {
  /** The name of a text format, or one of your own. */
  readonly format: string | TextFormat;
  /** Name in messages. @default the model's name */
  readonly name?: string;
  /** Called with the problems found in the calls of a message, once at its end; also in `warnings` of the reply. */
  readonly onWarnings?: (warnings: readonly string[]) => void;
}

const OPTIONS: OptionNames<TextToolsOptions> = {
  format: true,
  name: "string",
  onWarnings: "function",
  thinking: true,
  unknownTools: true,
  bodyArguments: "object",
  maxChars: true,
};

/**
 * Wraps a model so that it can call tools: the tools are described in its system prompt, its calls are read from its messages, and earlier calls and
 * results are sent as text messages.
 *
 * Left out are the provider's form of earlier messages (`native`) and provider-executed tools. A call is sealed when its end was read; a message that
 * was cut off has no calls.
 *
 * @throws ToolError `invalid_argument` for an unknown format
 */
export function textToolsModel(model: Model, options: TextToolsOptions): Model {
  checkModel(model, "textToolsModel()");
  checkKnownKeys(options, OPTIONS, "textToolsModel()");
  const format = typeof options.format === "string" ? textFormat(options.format) : options.format;
  return new TextToolsModel(model, format, options);
}

class TextToolsModel implements Model {
  readonly name: string;
  readonly serverUrl?: string;
  readonly #model: Model;
  readonly #format: TextFormat;
  readonly #options: TextToolsOptions;

  constructor(model: Model, format: TextFormat, options: TextToolsOptions) {
    this.name = options.name ?? model.name;
    if (model.serverUrl !== undefined) this.serverUrl = model.serverUrl;
    this.#model = model;
    this.#format = format;
    this.#options = options;
  }

  toolNameOf(qualifiedName: string): string {
    return this.#format.nameOf({ name: qualifiedName });
  }

  async *stream(request: ModelRequest, options?: ModelOptions): AsyncIterable<ModelEvent> {
    const tools = request.toolChoice === "none" ? [] : (request.tools ?? []).filter(({ providerExecuted = false }) => !providerExecuted);
    let decoding = this.#decode(tools);
    let seen = { text: false, reasoning: false };
    for await (const event of this.#model.stream(this.#toTextRequest(request, tools), options)) {
      if (event.type === "text-delta") {
        seen.text = true;
        yield* decoding.push(event.text);
      } else if (event.type === "reasoning-delta") {
        seen.reasoning = true;
        yield* decoding.pushReasoning(event.text);
      } else if (event.type === "reply-void") {
        decoding = this.#decode(tools);
        seen = { text: false, reasoning: false };
        yield event;
      } else if (event.type === "reply-end") {
        if (!seen.reasoning) yield* decoding.pushReasoning(event.reply.reasoning);
        if (!seen.text) yield* decoding.push(event.reply.text);
        yield* this.#end(decoding, event.reply, tools);
      } else if (event.type === "provider-call") yield event;
    }
  }

  #decode(tools: readonly ModelTool[]): TextDecoding {
    const { thinking, unknownTools, bodyArguments, maxChars } = this.#options;
    return this.#format.decodeText({
      tools,
      ...omitUndefined({ thinking, bodyArguments, maxChars }),
      ...(tools.length === 0 ? { unknownTools: "text" } : unknownTools === undefined ? {} : { unknownTools }),
    });
  }

  #end(decoding: TextDecoding, reply: ModelReply, tools: readonly ModelTool[]): readonly ModelEvent[] {
    const { finish, finishDetail, usage, model, id, media, providerCalls } = reply;
    const events = decoding.end(omitUndefined({ finish: finish === "calls" ? "stop" : finish, usage, finishDetail, model, id }));
    if (decoding.warnings.length > 0) this.#options.onWarnings?.(decoding.warnings);
    const candidates = reply.candidates?.map((candidate) => ({ ...candidate, text: this.#extractText(candidate.text, tools) }));
    const warnings = [...(reply.warnings ?? []), ...decoding.warnings];
    const rest = {
      media,
      providerCalls,
      ...(candidates === undefined ? {} : { candidates }),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
    return events.map((event) => (event.type === "reply-end" ? { ...event, reply: { ...event.reply, ...rest } } : event));
  }

  /** The text of a whole message without its calls and its thinking. */
  #extractText(text: string, tools: readonly ModelTool[]): string {
    const decoding = this.#decode(tools);
    decoding.push(text);
    const [last] = decoding.end({ finish: "stop", usage: { inputTokens: 0, outputTokens: 0 } }).slice(-1);
    return last?.type === "reply-end" ? last.reply.text : text;
  }

  #toTextRequest(request: ModelRequest, tools: readonly ModelTool[]): ModelRequest {
    const { tools: _tools, toolChoice = "auto", parallelCalls = true, responseFormat, system, messages, ...rest } = request;
    const parts = [system ?? "", this.#format.describeTools(tools)];
    if (tools.length > 0) parts.push(this.#describeChoice(toolChoice), parallelCalls ? "" : "Make one call per message.");
    const text = parts.filter((part) => part !== "").join("\n\n");
    return {
      ...rest,
      // a message with calls in its text is not JSON
      ...(responseFormat === undefined || tools.length > 0 ? {} : { responseFormat }),
      messages: this.#toTextMessages(messages),
      ...(text === "" ? {} : { system: text }),
    };
  }

  #describeChoice(choice: ToolChoice): string {
    if (choice === "required") return "Your next message must call a tool.";
    return typeof choice === "object" ? `Your next message must call the tool ${this.toolNameOf(choice.tool)}.` : "";
  }

  #toTextMessages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
    const { steps, toolNames } = conversationSteps(messages, ANY_ID);
    const reasons = listReasoning(messages);
    const written: ModelMessage[] = [];
    for (const step of steps) {
      const at = written.length;
      if (step.kind !== "assistant") {
        const { kind: role, content, title } = step;
        written.push({ role, at, content, ...(title === undefined ? {} : { title }) });
      } else pushAll(written, this.#toTextStep(step, { at, toolNames, reasons }));
    }
    return written;
  }

  #toTextStep({ content, calls }: AssistantStep, { at, toolNames, reasons }: StepContext): readonly ModelMessage[] {
    const named = calls.map((call) => {
      const tool = { name: toolNames.get(call.name) ?? call.name, ...omitUndefined({ fingerprint: call.overload }) };
      return { ...call, name: this.#format.nameOf(tool) };
    });
    const text = this.#format.writeCalls(named.map(({ id, name, input }) => withReasoning({ id, name, input }, reasons.next().value)));
    if (text === "") return [{ role: "assistant", at, content }];
    const both =
      content === "" ? text : typeof content === "string" ? `${content}\n${text}` : [...content, { type: "text" as const, text }];
    const offeredName = (name: string): string => this.toolNameOf(name);
    const answers = this.#format.writeResults(named.map(({ id, name, result }) => ({ id, name, text: answerText(result, offeredName) })));
    return [
      { role: "assistant", at, content: both },
      { role: "user", at: at + 1, content: answers },
    ];
  }
}

/** Allows any id: they are not shown to a model that writes its calls as text. */
const ANY_ID = { allowed: /^[^]*$/u, maxLength: 256 };

interface StepContext {
  readonly at: number;
  readonly toolNames: ReadonlyMap<string, string>;
  /** The reasoning of each call, in the order of the calls. */
  readonly reasons: Iterator<string | undefined>;
}

function withReasoning(call: WrittenCall, reasoning: string | undefined): WrittenCall {
  return reasoning === undefined ? call : { ...call, reasoning };
}

/** The reasoning of each call id, once, as in the steps of a conversation. */
function listReasoning(messages: readonly ModelMessage[]): Iterator<string | undefined> {
  const calls = new Map<string, CallMessage>();
  for (const message of messages) if (message.role === "call" && !calls.has(message.callId)) calls.set(message.callId, message);
  return Array.from(calls.values(), ({ call }) => call.reasoning?.toWellFormed()).values();
}
