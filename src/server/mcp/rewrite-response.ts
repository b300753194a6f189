/**
 * Rewrites responses of the SDK in JSON that every client can read. The SDK writes event streams without back-pressure, so for a client that does not
 * read, newer notifications replace older ones.
 */
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { replaceLoneSurrogates } from "../../core/base/lone-surrogates.ts";
import { createTextResponse } from "../http/response-text.ts";

/** With this many bytes unread, only the latest notification of each kind is kept. */
const MAX_UNREAD_BYTES = 65_536;
/** Notifications that a newer one of the same kind replaces. */
const REPLACEABLE_METHODS: ReadonlySet<JsonValue | undefined> = new Set([
  "notifications/progress",
  "notifications/message",
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
]);

/** Removes lone surrogates from a response. In a stream, bounds unread notifications, but no responses or requests. @param hides drops a frame */
export async function rewriteResponse(response: Response, hides?: (frame: string) => boolean): Promise<Response> {
  const { body, headers } = response;
  const type = headers.get("content-type") ?? "";
  if (body !== null && type.startsWith("application/json"))
    return createTextResponse(replaceLoneSurrogates(await response.text()), response);
  if (body === null || !type.startsWith("text/event-stream")) return response;
  return new Response(new BoundedStream(body, hides).readable, response);
}

class BoundedStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #shouldHide: ((frame: string) => boolean) | undefined;
  readonly #encoder = new TextEncoder();
  /** Notifications that wait until more has been read, oldest kind first. */
  readonly #latest = new Map<string, string>();
  #hasEnded = false;

  constructor(source: ReadableStream<Uint8Array>, hides: ((frame: string) => boolean) | undefined) {
    this.#shouldHide = hides;
    this.#reader = source.getReader();
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void this.#copy(controller),
        pull: (controller) => this.#flushLatest(controller),
        cancel: (reason) => {
          this.#hasEnded = true;
          return this.#reader.cancel(reason);
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
    );
  }

  async #copy(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (this.#hasEnded) return;
        if (done) break;
        const frames = (rest + decoder.decode(value, { stream: true })).split("\n\n");
        rest = frames.pop() ?? "";
        for (const frame of frames) this.#addFrame(`${replaceLoneSurrogates(frame)}\n\n`, controller);
      }
      this.#flushLatest(controller);
      if (rest !== "") controller.enqueue(this.#encoder.encode(rest));
      controller.close();
    } catch (thrown: unknown) {
      if (!this.#hasEnded) controller.error(thrown);
    } finally {
      this.#hasEnded = true;
    }
  }

  #addFrame(frame: string, controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#shouldHide?.(frame) === true) return;
    if ((controller.desiredSize ?? 0) <= 0) {
      if (frame.startsWith(":")) return; // a keep-alive, useful only to a client that reads
      const kind = notificationKind(frame);
      if (kind !== undefined) return void this.#latest.set(kind, frame);
    }
    this.#flushLatest(controller);
    controller.enqueue(this.#encoder.encode(frame));
  }

  #flushLatest(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#latest.size === 0) return;
    const frames = [...this.#latest.values()].join("");
    this.#latest.clear();
    controller.enqueue(this.#encoder.encode(frames));
  }
}

/** The kind of a notification; undefined for other messages and unreadable ones. */
function notificationKind(frame: string): string | undefined {
  const data = frame.split("\n").find((line) => line.startsWith("data: "));
  if (data === undefined) return undefined;
  let message: JsonValue;
  try {
    message = parseJson(data.slice("data: ".length), { maxChars: Infinity });
  } catch {
    return undefined;
  }
  if (!isJsonObject(message) || !REPLACEABLE_METHODS.has(message["method"])) return undefined;
  const { params } = message;
  const { progressToken = null, uri = null } = isJsonObject(params) ? params : {};
  return JSON.stringify([message["method"] ?? null, progressToken, uri]);
}
