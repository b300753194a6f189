/** Encodes events as the lines of a recording. */
import { ToolError } from "../error.ts";
import type { JsonValue } from "../base/json.ts";
import { sha256 } from "./node-sha256.ts";
import { readEvent } from "./read-event.ts";
import { BodyWindow, bodyHash, detachBodies } from "./bodies.ts";
import { BODY_OVERHEAD, MAX_PART_CHARS, MAX_PENDING_CHARS, RECORDING_VERSION, type RecordingHeader } from "./format.ts";

/** Writes one recording, from its first line to its last. Each line ends with a line feed. */
export class RecordingEncoder {
  readonly #window = new BodyWindow<true>();
  #sum = "";
  #events = 0;

  start({ sessionId, exportedAt }: RecordingHeader): string {
    return this.#seal({ haft: "recording", version: RECORDING_VERSION, sessionId, exportedAt });
  }

  /** Yields the lines of one event: its new bodies, then the event. @throws ToolError `corrupt_record` for a value that is not an event */
  *encodeEvent(value: unknown): Generator<string, void, undefined> {
    const event = readEvent(value, `event ${++this.#events}`);
    const fresh = new Map<string, string>();
    const detached = detachBodies(event, (text) => this.#storeBody(text, fresh));
    const text = JSON.stringify(detached);
    const large = text.length > MAX_PART_CHARS ? this.#storeBody(text, fresh) : undefined;
    let chars = 0;
    for (const body of fresh.values()) chars += body.length + BODY_OVERHEAD;
    if (chars > MAX_PENDING_CHARS)
      throw new ToolError("too_large", `event ${this.#events} has ${chars} characters of text; ${MAX_PENDING_CHARS} is the limit.`);
    for (const [hash, body] of fresh) yield* this.#body(hash, body);
    yield large === undefined ? this.#sealText(`{"event":${text}}`) : this.#seal({ large });
    this.#window.trim();
  }

  end(): string {
    return this.#seal({ end: { events: this.#events } });
  }

  #storeBody(text: string, fresh: Map<string, string>): string {
    const hash = bodyHash(text, sha256);
    if (!this.#window.has(hash)) {
      this.#window.add(hash, text.length, true);
      fresh.set(hash, text);
    }
    return hash;
  }

  *#body(body: string, text: string): Generator<string, void, undefined> {
    const parts = Math.ceil(text.length / MAX_PART_CHARS);
    if (parts <= 1) yield this.#seal({ body, text });
    else {
      for (let part = 1; part <= parts; part++)
        yield this.#seal({ body, part, parts, text: text.slice((part - 1) * MAX_PART_CHARS, part * MAX_PART_CHARS) });
    }
  }

  #seal(line: JsonValue): string {
    return this.#sealText(JSON.stringify(line));
  }

  /** Appends the checksum of this line and all earlier ones. */
  #sealText(json: string): string {
    const open = json.slice(0, -1);
    this.#sum = sha256(this.#sum + open);
    return `${open},"sum":"${this.#sum}"}\n`;
  }
}
