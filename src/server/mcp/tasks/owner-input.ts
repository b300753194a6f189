/** The questions of a task that another server runs: they are read there, and their answers sent there, as a client of 2026-07-28 does. */
import { MCP_PATH } from "../../base-path.ts";
import { isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import { parseJson } from "../../../core/base/parse-json.ts";
import { describeThrown } from "../../../core/error.ts";
import { sendToProcess, wasForwarded } from "../../api/requests/send-to-process.ts";
import { CLIENT_JSON } from "../../http/body.ts";
import type { InputRequest } from "../exchange.ts";
import { INTERNAL_ERROR } from "../../../engine/mcp/rpc-codes.ts";
import { readClientFacts } from "../round.ts";
import type { CallHandlerContext } from "../handler-context.ts";
import type { TaskInput } from "./served-task.ts";
import { TASKS_EXTENSION } from "./task-offer.ts";
import type { TaskContext } from "./task-context.ts";

export interface OwnedTask {
  readonly id: string;
  /** The session that it runs in. */
  readonly sessionId: string;
}

/** How long to wait for the other server, in milliseconds. */
const ANSWER_MS = 5_000;
const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol";
const METHODS: readonly InputRequest["method"][] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/**
 * Reads the questions of a task. Undefined if the process that runs it announced no address, does not answer there, or does not know the task; and for a
 * request that another server has sent on.
 */
export async function ownerInput(serving: CallHandlerContext, task: OwnedTask, context: TaskContext): Promise<TaskInput | undefined> {
  const owner = new TaskOwner(serving, task, context);
  try {
    const shown = await owner.ask("tasks/get", {});
    if (shown === undefined) return undefined;
    return { requests: requestsIn(shown), deliverAnswers: (answers) => owner.answer(answers) };
  } catch (thrown: unknown) {
    serving.gateway.settings.log.debug(`A task over MCP could not be read where it runs: ${describeThrown(thrown)}`);
    return undefined;
  }
}

class TaskOwner {
  readonly #serving: CallHandlerContext;
  readonly #task: OwnedTask;
  readonly #context: TaskContext;

  constructor(serving: CallHandlerContext, task: OwnedTask, context: TaskContext) {
    this.#serving = serving;
    this.#task = task;
    this.#context = context;
  }

  /** @throws ToolError `unavailable` if it cannot be reached, a protocol error if it refuses the answers; as a rejection */
  async answer(answers: ReadonlyMap<string, unknown>): Promise<void> {
    await this.ask("tasks/update", { inputResponses: Object.fromEntries(answers) });
  }

  /** Its result; undefined if no address is known. @throws as `answer` */
  async ask(method: string, params: Readonly<Record<string, unknown>>): Promise<JsonObject | undefined> {
    const { gateway, server, connection } = this.#serving;
    const { runtime, settings, sdk } = gateway;
    const { headers } = this.#context.http?.req ?? {};
    if (headers === undefined || wasForwarded({ headers })) return undefined;
    const [stored] = (await runtime.store?.list({ sessionId: this.#task.sessionId })) ?? [];
    if (stored?.openedAt === undefined) return undefined;
    const { capabilities } = readClientFacts(this.#context, server, connection);
    const request = requestTo(stored.openedAt, { method, params: { ...params, taskId: this.#task.id }, capabilities, headers });
    const process = { id: stored.openedIn, address: stored.openedAt };
    const parts = { store: runtime.store, clock: settings.clock, basePath: "" };
    const response = await sendToProcess(
      { toRequestWithBody: () => request },
      { process, what: "The task runs", timeoutMs: ANSWER_MS },
      parts,
    );
    const answer = answerIn(await response.text());
    if (isJsonObject(answer?.["result"])) return answer["result"];
    const { code, message } = isJsonObject(answer?.["error"]) ? answer["error"] : {};
    throw new sdk.ProtocolError(
      typeof code === "number" ? code : INTERNAL_ERROR,
      typeof message === "string" ? message : `The server that runs the task answered with status ${response.status}.`,
    );
  }
}

interface OwnerRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly capabilities: JsonObject;
  /** The headers of the client's request, whose credentials apply there too. */
  readonly headers: Headers;
}

function requestTo(address: string, { method, params, capabilities, headers }: OwnerRequest): Request {
  const sent = new Headers(headers);
  for (const name of headers.keys()) if (name.startsWith("mcp-")) sent.delete(name);
  sent.set("content-type", "application/json");
  sent.set("accept", "application/json, text/event-stream");
  sent.set("mcp-protocol-version", VERSION);
  sent.set("mcp-method", method);
  sent.set("mcp-name", String(params["taskId"]));
  const extensions = isJsonObject(capabilities["extensions"]) ? capabilities["extensions"] : {};
  const meta = {
    [`${META}/protocolVersion`]: VERSION,
    [`${META}/clientInfo`]: { name: "haft", version: "0.0.0" },
    [`${META}/clientCapabilities`]: { ...capabilities, extensions: { ...extensions, [TASKS_EXTENSION]: {} } },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } });
  return new Request(new URL(MCP_PATH, address), { method: "POST", headers: sent, body });
}

/** The message with an answer: of a JSON body, or in a stream. */
function answerIn(text: string): JsonObject | undefined {
  const lines = text.startsWith("{") ? [text] : text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  const messages = lines.map((line) => parseJson(line, CLIENT_JSON)).filter((one) => isJsonObject(one));
  return messages.find((one) => (one["result"] ?? one["error"]) !== undefined);
}

function requestsIn({ inputRequests }: JsonObject): ReadonlyMap<string, InputRequest> {
  const found = new Map<string, InputRequest>();
  for (const [key, request] of Object.entries(isJsonObject(inputRequests) ? inputRequests : {})) {
    if (!isJsonObject(request) || !isJsonObject(request["params"])) continue;
    const method = METHODS.find((one) => one === request["method"]);
    if (method !== undefined) found.set(key, { method, params: request["params"] });
  }
  return found;
}
