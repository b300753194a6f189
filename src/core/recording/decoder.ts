/** Decodes the lines of a recording into events; the lines are untrusted. */
import { count, describeProblem, numberBetween, oneOf, optional, shape, textMatching, textOfLength, anyText } from "../base/check-shape.ts";
import type { ShapeCheck } from "../base/check-shape.ts";
import { ToolError } from "../error.ts";
import type { SessionEvent } from "../event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { parseJson } from "../base/parse-json.ts";
import { EVENT_LIMITS, MAX_ID_LENGTH, readEvent } from "./read-event.ts";
import { BodyWindow, attachBodies, bodyHash, type Sha256 } from "./bodies.ts";
import { BODY_OVERHEAD, MAX_LINE_CHARS, MAX_PENDING_CHARS, RECORDING_VERSION, type RecordingHeader } from "./format.ts";
import { plural } from "../base/wording.ts";
import { omitUndefined } from "../base/omit-undefined.ts";

const LINE_LIMITS = { ...EVENT_LIMITS, maxDepth: EVENT_LIMITS.maxDepth + 4, maxChars: MAX_LINE_CHARS };
const SUM_LENGTH = `,"sum":"${"0".repeat(64)}"}`.length;

/** A line without a dollar sign, escaped or not, refers to no body. */
const MAY_HAVE_REFERENCE = /\$|\\u0024/u;

const HASH = textMatching(/^[0-9a-f]{64}$/u, "a SHA-256 in hex");
const HEADER = shape({
  haft: oneOf(["recording"]),
  sessionId: textOfLength(1, MAX_ID_LENGTH),
  exportedAt: numberBetween(-8.64e15, 8.64e15),
});
const BODY = shape({ body: HASH, text: anyText, part: optional(count), parts: optional(count) });
const LARGE = shape({ large: HASH });
const END = shape({ end: shape({ events: count }) });

const FIRST_LINE_START = '{"haft":"recording"';
const FIRST_LINE = `The first line of a recording begins ${FIRST_LINE_START}.`;
/** Replaces the hints on writing JSON: recordings are not written by hand. */
const EXPORT_AGAIN = "The file was cut short or changed: export it again.";

interface OpenBody {
  readonly body: JsonValue | undefined;
  readonly parts: JsonValue | undefined;
  readonly texts: string[];
}

/** Reads one recording line by line. Must not be used after it has thrown. */
export class RecordingDecoder {
  readonly #sha256: Sha256;
  readonly #window = new BodyWindow<string>();
  #line = 0;
  #sum = "";
  #events = 0;
  #pendingChars = 0;
  #openBody: OpenBody | undefined;
  #ended = false;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** Reads the first line. @throws ToolError `corrupt_record` */
  start(line: string | undefined): RecordingHeader {
    this.#line = 1;
    if (line === undefined) throw this.#corruptError("the recording is empty");
    const header = this.#parse(line);
    const problem = HEADER(header);
    if (problem !== undefined) throw this.#corruptError(`this is not a recording of Haft: ${describeProblem(problem)}`, FIRST_LINE);
    const version = header["version"];
    if (version !== RECORDING_VERSION) {
      throw this.#corruptError(
        `the recording is of version ${JSON.stringify(version)}; this version of Haft reads version ${RECORDING_VERSION}`,
      );
    }
    this.#verify(line);
    return Object.freeze({ sessionId: String(header["sessionId"]), exportedAt: Number(header["exportedAt"]) });
  }

  /** Reads the next line: returns its event, or undefined for any other line. @throws ToolError `corrupt_record` naming the line */
  next(line: string): SessionEvent | undefined {
    this.#line++;
    if (this.#ended) throw this.#corruptError("something follows the end of the recording");
    const fields = this.#parse(line);
    this.#verify(line);
    if (this.#openBody !== undefined || Object.hasOwn(fields, "body")) return this.#readBody(fields);
    if (Object.hasOwn(fields, "event")) {
      const event = fields["event"] ?? null;
      return this.#acceptEvent(MAY_HAVE_REFERENCE.test(line) ? this.#attachBodies(event) : event);
    }
    if (Object.hasOwn(fields, "large")) return this.#acceptEvent(this.#attachBodies(this.#parseLarge(fields)));
    return this.#readEnd(fields);
  }

  /** Whether the last line of the recording was read. */
  get isComplete(): boolean {
    return this.#ended;
  }

  /** Called when there are no more lines. @throws ToolError `corrupt_record` if the recording's last line is missing */
  finish(): void {
    this.#line++;
    if (!this.#ended) throw this.#corruptError(`the recording was cut short: it has no last line after ${plural(this.#events, "event")}`);
  }

  /** Returns the error for a line that is too long to be read. */
  tooLongError(): ToolError {
    this.#line++;
    return this.#corruptError(`the line is longer than ${MAX_LINE_CHARS} characters`);
  }

  #parse(line: string): JsonObject {
    let value: JsonValue;
    try {
      value = parseJson(line, LINE_LIMITS);
    } catch (error: unknown) {
      const { message } = ToolError.fromUnknown(error);
      const hint = this.#line === 1 && !line.startsWith(FIRST_LINE_START) ? FIRST_LINE : EXPORT_AGAIN;
      throw this.#corruptError(message.replace("line 1, column", `line ${this.#line}, column`), hint, error);
    }
    if (!isJsonObject(value)) throw this.#corruptError("a line of a recording is a JSON object");
    return value;
  }

  #verify(line: string): void {
    const open = line.slice(0, -SUM_LENGTH);
    this.#sum = this.#sha256(this.#sum + open);
    if (line.slice(-SUM_LENGTH) === `,"sum":"${this.#sum}"}`) return;
    throw this.#corruptError("the checksum is wrong: the line was changed, or lines before it are missing or in another order");
  }

  #readBody(fields: JsonObject): undefined {
    this.#check(BODY, fields);
    const { body, part = 1, parts = 1 } = fields;
    const text = String(fields["text"]);
    const open = (this.#openBody ??= { body, parts, texts: [] });
    if (body !== open.body || parts !== open.parts || part !== open.texts.length + 1)
      throw this.#corruptError("the parts of a long text are not in order");
    if ((this.#pendingChars += text.length + BODY_OVERHEAD) > MAX_PENDING_CHARS)
      throw this.#corruptError(`more than ${MAX_PENDING_CHARS} characters of text come before the event they belong to`);
    open.texts.push(text);
    if (part === parts) this.#closeBody(open);
  }

  #closeBody(open: OpenBody): void {
    const text = open.texts.join("");
    const hash = bodyHash(text, this.#sha256);
    if (hash !== open.body) throw this.#corruptError("the SHA-256 of the text is not the one that was recorded for it");
    this.#window.add(hash, text.length, text);
    this.#openBody = undefined;
  }

  #parseLarge(fields: JsonObject): JsonValue {
    this.#check(LARGE, fields);
    try {
      return parseJson(this.#find(String(fields["large"])), { ...LINE_LIMITS, maxChars: MAX_PENDING_CHARS });
    } catch (error: unknown) {
      const cause = ToolError.fromUnknown(error);
      throw cause.code === "corrupt_record" ? cause : this.#corruptError(`the long event: ${cause.message}`, EXPORT_AGAIN, error);
    }
  }

  #attachBodies(detached: JsonValue): JsonValue {
    return attachBodies(detached, (hash) => this.#find(hash));
  }

  #acceptEvent(attached: JsonValue): SessionEvent {
    const event = this.#readEvent(attached);
    this.#events++;
    this.#pendingChars = 0;
    this.#window.trim();
    return event;
  }

  /** Reads the event of a line whose checksum is right. */
  #readEvent(attached: JsonValue): SessionEvent {
    try {
      return readEvent(attached, `line ${this.#line}`);
    } catch (error: unknown) {
      const { code, message } = ToolError.fromUnknown(error);
      throw new ToolError(code, message, { hint: "The line was not changed: a newer version of Haft may have written it.", cause: error });
    }
  }

  #readEnd(fields: JsonObject): undefined {
    this.#check(END, fields);
    const { end } = fields;
    const events = isJsonObject(end) ? end["events"] : undefined;
    if (events !== this.#events)
      throw this.#corruptError(`the recording should have ${String(events)} ${events === 1 ? "event" : "events"} and has ${this.#events}`);
    this.#ended = true;
  }

  #find(hash: string): string {
    const text = this.#window.get(hash);
    if (text === undefined) throw this.#corruptError(`the event refers to a text that is not there: ${JSON.stringify(hash.slice(0, 64))}`);
    return text;
  }

  #check(check: ShapeCheck, fields: JsonObject): void {
    const problem = check(fields);
    if (problem !== undefined) throw this.#corruptError(describeProblem(problem));
  }

  #corruptError(what: string, hint?: string, cause?: unknown): ToolError {
    return new ToolError("corrupt_record", `line ${this.#line}: ${what.replace(/\.$/u, "")}.`, omitUndefined({ hint, cause }));
  }
}
