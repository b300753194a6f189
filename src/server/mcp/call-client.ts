/** The client of one exchange, as handlers use it. */
import type { QuestionAnswer, AskRequest, Question } from "../../core/approvals/ask.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { validateInput } from "../../schema/validation-result.ts";
import type { InputOptions, McpClient, McpLogLevel } from "./client.ts";
import type { Exchange } from "./exchange.ts";

const CANCELLED_ANSWER: QuestionAnswer = Object.freeze({ action: "cancel" });

const INPUT_OPTIONS: OptionNames<InputOptions> = { key: true, signal: true };

export interface ClientFacts {
  readonly era: "legacy" | "modern";
  readonly capabilities: JsonObject;
  /** Returns a unique id. */
  readonly newId: () => string;
}

export class CallClient implements McpClient {
  readonly era: "legacy" | "modern";
  readonly capabilities: JsonObject;
  /** The capabilities that a handler needed and the client does not offer. */
  missingCapabilities: JsonObject | undefined;
  readonly #exchange: Exchange<unknown>;
  readonly #newId: () => string;
  #questions = 0;
  #samples = 0;
  #roots = 0;

  constructor({ era, capabilities, newId }: ClientFacts, exchange: Exchange<unknown>) {
    this.era = era;
    this.capabilities = capabilities;
    this.#exchange = exchange;
    this.#newId = newId;
  }

  /** Answers a question of the runtime. The message names the asker unless it is the called tool itself. */
  readonly ask = (request: AskRequest): Promise<QuestionAnswer> => {
    const { asker, toolName, message, schema, url, signal } = request;
    const question = { ...(schema === undefined ? {} : { schema }), ...(url === undefined ? {} : { url }) };
    return this.elicit({ message: asker === toolName ? message : `${asker}: ${message}`, ...question }, { signal });
  };

  async elicit(question: Question, options: InputOptions = {}): Promise<QuestionAnswer> {
    checkKnownKeys(options, INPUT_OPTIONS, "elicit()");
    const { key, signal } = options;
    const number = ++this.#questions;
    if (!this.#canElicit(question.url === undefined ? "form" : "url")) return CANCELLED_ANSWER;
    // only the older revision needs an id for pages
    const id = question.url !== undefined && this.era === "legacy" ? { elicitationId: this.#newId() } : {};
    const request = { method: "elicitation/create", params: { ...toElicitationParams(question), ...id } } as const;
    try {
      return await this.#exchange.ask(request, {
        key: key ?? `question_${number}`,
        read: (answer) => parseAnswer(answer, question),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error: unknown) {
      if (this.#exchange.hasEnded || this.#exchange.signal.aborted) throw error;
      return CANCELLED_ANSWER; // the client refused to ask, or its answer is invalid
    }
  }

  async sample(params: JsonObject, options: InputOptions = {}): Promise<JsonObject> {
    checkKnownKeys(options, INPUT_OPTIONS, "sample()");
    const { key, signal } = options;
    const number = ++this.#samples;
    this.#requireCapability("sampling", params["tools"] === undefined ? {} : { tools: {} });
    const request = { method: "sampling/createMessage", params } as const;
    return this.#exchange.ask(request, {
      key: key ?? `sample_${number}`,
      read: (answer) =>
        isJsonObject(answer) && typeof answer["role"] === "string" && answer["content"] !== undefined ? answer : undefined,
      ...(signal === undefined ? {} : { signal }),
    });
  }

  async listRoots(options: InputOptions = {}): Promise<JsonObject> {
    checkKnownKeys(options, INPUT_OPTIONS, "listRoots()");
    const { key, signal } = options;
    const number = ++this.#roots;
    this.#requireCapability("roots", {});
    const request = { method: "roots/list", params: {} } as const;
    return this.#exchange.ask(request, {
      key: key ?? `roots_${number}`,
      read: (answer) => (isJsonObject(answer) && isJsonArray(answer["roots"]) ? answer : undefined),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  log(level: McpLogLevel, data: JsonValue, logger?: string): void {
    this.#exchange.round?.log(level, data, logger);
  }

  /** Whether the client can show this kind of question. `{}` means forms, as before pages existed. */
  #canElicit(mode: "form" | "url"): boolean {
    const { elicitation } = this.capabilities;
    if (!isJsonObject(elicitation)) return false;
    return elicitation[mode] !== undefined || (mode === "form" && elicitation["url"] === undefined);
  }

  #requireCapability(capability: "sampling" | "roots", parts: JsonObject): void {
    const offered = this.capabilities[capability];
    if (isJsonObject(offered) && Object.keys(parts).every((part) => offered[part] !== undefined)) return;
    this.missingCapabilities = { [capability]: parts };
    throw new ToolError("unavailable", `The client does not support ${capability}.`, { outcome: "not_started" });
  }
}

function toElicitationParams({ message, schema, url }: Question): JsonObject {
  if (url !== undefined) return { mode: "url", message, url };
  const requestedSchema = isJsonObject(schema) ? schema : { type: "object", properties: {} };
  return { mode: "form", message, requestedSchema };
}

/** Returns undefined for an invalid answer, or one that does not fit the schema: a client may send anything. */
function parseAnswer(answer: unknown, { schema }: Question): QuestionAnswer | undefined {
  if (!isJsonObject(answer)) return undefined;
  const { action, content } = answer;
  if (action === "decline" || action === "cancel") return { action };
  if (action !== "accept" || (content !== undefined && !isJsonObject(content))) return undefined;
  if (schema !== undefined && !validateInput(content ?? {}, schema).valid) return undefined;
  return content === undefined ? { action } : { action, content };
}
