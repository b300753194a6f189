/** The HTTP event stream of a listen request that names tasks: the SDK's stream, with the tasks' notifications added. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { parseJson } from "../../../core/base/parse-json.ts";
import { replaceLoneSurrogates } from "../../../core/base/lone-surrogates.ts";
import type { CallHandlerContext } from "../handler-context.ts";
import { TaskListenRequests } from "./task-listen-requests.ts";

export interface TaskStreamOptions {
  readonly body: JsonValue;
  readonly serving: CallHandlerContext;
  /** The headers of the request. */
  readonly headers: Headers;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

/** How often a keep-alive comment is sent on an open stream, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

/** Adds tasks to the SDK's stream. If only tasks are listened to, the SDK ends its stream at once; this one stays open. */
export function withTaskNotifications(response: Response, options: TaskStreamOptions): Response {
  const { body } = response;
  if (body === null) return response;
  const stream = new TaskStream(options);
  return new Response(stream.wrap(body), { status: response.status, headers: response.headers });
}

class TaskStream {
  readonly #options: TaskStreamOptions;
  readonly #listenRequests: TaskListenRequests;
  readonly #encoder = new TextEncoder();
  readonly #ends: (() => void)[] = [];
  #stopTimer: () => void = () => undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The last message of the SDK's stream, sent when this stream ends. */
  #last: JsonObject | undefined;

  constructor(options: TaskStreamOptions) {
    this.#options = options;
    const { serving, headers, body, signal } = options;
    this.#listenRequests = new TaskListenRequests({ serving, headers, send: (message) => this.#write(message) });
    this.#listenRequests.handleMessage(body);
    const end = (): void => this.#end();
    signal.addEventListener("abort", end, { once: true });
    this.#ends.push(() => signal.removeEventListener("abort", end));
    const { tasks } = serving.gateway;
    if (tasks !== undefined) this.#ends.push(tasks.onClose(end));
    this.#keepAlive();
  }

  wrap(source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        void this.#copy(source);
      },
      cancel: () => {
        this.#controller = undefined;
        this.#end();
        return source.cancel().catch(() => undefined); // the source may have ended
      },
    });
  }

  async #copy(source: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    try {
      for await (const text of source.pipeThrough(new TextDecoderStream())) {
        const frames = (rest + text).split("\n\n");
        rest = frames.pop() ?? "";
        for (const frame of frames) await this.#handleFrame(frame);
      }
    } catch {
      this.#end(); // the client has disconnected
    }
  }

  async #handleFrame(frame: string): Promise<void> {
    const data = frame.split("\n").find((line) => line.startsWith("data: "));
    const message = data === undefined ? undefined : parseJson(data.slice("data: ".length));
    if (!isJsonObject(message)) return this.#enqueue(`${frame}\n\n`);
    if (message["result"] === undefined) return this.#write(await this.#listenRequests.transformOutgoing(message));
    this.#last = message;
  }

  #write(message: JsonObject): void {
    this.#enqueue(`event: message\ndata: ${replaceLoneSurrogates(JSON.stringify(message))}\n\n`);
  }

  #enqueue(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text));
  }

  #keepAlive(): void {
    this.#stopTimer = this.#options.serving.gateway.settings.clock.timer(
      () => {
        this.#enqueue(": keepalive\n\n");
        this.#keepAlive();
      },
      KEEP_ALIVE_MS,
      { background: true },
    );
  }

  #end(): void {
    this.#stopTimer();
    for (const end of this.#ends.splice(0)) end();
    this.#listenRequests.close();
    if (this.#controller === undefined) return;
    if (this.#last !== undefined) this.#write(this.#last);
    this.#controller.close();
    this.#controller = undefined;
  }
}
