/** Reads a message by a grammar: the reader that all text formats share. */
import { ToolError } from "../../core/error.ts";
import { endedWell, type ModelEvent, type ModelTool } from "../../core/model.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { readOutline, readSureJson } from "../../schema/json-text/read-sure-json.ts";
import { ReplyBuilder } from "../reply-builder.ts";
import { CodeSpan } from "./code-span.ts";
import { rolesOf, type Role, type Roles, type ThinkingEnd } from "./grammar-roles.ts";
import type { DecodeTextOptions, TextDecoding, TextEnding } from "./text-format.ts";
import type { CallMark, ReadCall, ReadPlace, TextGrammar } from "./text-grammar.ts";
import { TextInput, type Reading } from "./text-input.ts";
import { ToolNames } from "./tool-names.ts";

const DEFAULT_MAX_CHARS = 16 * 1024 * 1024;
const MAX_CALLS = 1_024;
const MAX_NAME = 256;
const NO_TOOLS: readonly ModelTool[] = [];

export function decodeText(grammar: TextGrammar, options: DecodeTextOptions = {}): TextDecoding {
  return new TextReader(grammar, options);
}

class TextReader implements TextDecoding, ReadPlace {
  readonly input = new TextInput();
  readonly anyTool: boolean;
  readonly #grammar: TextGrammar;
  readonly #options: DecodeTextOptions;
  readonly #roles: Roles;
  readonly #keepThinking: boolean;
  readonly #tools: ToolNames;
  /** Set at the first call. */
  readonly #toolNames = new Map<string, string>();
  readonly #builder: ReplyBuilder;
  readonly #warnings: string[] = [];
  readonly #code = new CodeSpan();
  readonly #run: Reading<void>;
  /** The kinds of thinking that are never closed again in a tail that is read to find its calls; undefined when a message is read. */
  #neverClosed: Set<ThinkingEnd> | undefined;
  /** Number of characters from the mark at which the tail begins to the end; this mark is the first one after all words. */
  #tail = 0;
  /** Whether there were words, or thinking, since the mark at which the tail begins. */
  #wordsSinceTail = false;
  #charsLeft: number;
  #calls = 0;
  #thought = false;
  /** Whether a mark was read as text because no call followed it: then the mark that ends the call is text as well. */
  #failed = false;
  #unknownTools: "text" | "call" = "call";
  /** The text read as the beginning of a call, before the text that the input keeps. */
  #held = "";
  /** Marks that are dropped if a call follows, with the white space after them. */
  #pending = "";
  /** White space that is dropped if a call, or the end, follows. */
  #space = "";
  /** The text since the last event. */
  #said: string[] = [];
  #skipSpace = false;
  #silent = true;
  #cutOff = false;
  #ended = false;

  constructor(grammar: TextGrammar, options: DecodeTextOptions) {
    const { tools = NO_TOOLS, thinking = "split", maxChars = DEFAULT_MAX_CHARS } = options;
    this.#grammar = grammar;
    this.#options = options;
    this.#roles = rolesOf(grammar);
    this.#keepThinking = thinking === "keep";
    this.anyTool = options.tools === undefined;
    this.#tools = new ToolNames(tools);
    this.#builder = new ReplyBuilder({ toolNames: this.#toolNames, maxChars });
    this.#charsLeft = maxChars;
    this.#run = this.#read();
    this.#run.next();
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  get bodyArguments(): Readonly<Record<string, string>> {
    return this.#options.bodyArguments ?? {};
  }

  get silent(): boolean {
    return this.#silent;
  }

  push(text: string): readonly ModelEvent[] {
    if (this.#ended || text === "") return [];
    if ((this.#charsLeft -= text.length) < 0)
      throw new ToolError("too_large", "A message of the model has more characters than are allowed.");
    this.input.feed(text);
    this.#run.next();
    this.#tell();
    return this.#builder.take();
  }

  pushReasoning(text: string): readonly ModelEvent[] {
    if (!this.#ended) this.#reason(text);
    return this.#builder.take();
  }

  end({ finish = "stop", finishDetail, usage = {}, model, id }: TextEnding = {}): readonly ModelEvent[] {
    if (this.#ended) return [];
    this.#ended = true;
    this.#cutOff = !endedWell(finish);
    this.input.end();
    this.#run.next();
    this.#builder.usage(usage);
    this.#builder.about({ model, id });
    this.#builder.finish(finish, finishDetail);
    this.#builder.end();
    return this.#builder.take();
  }

  tool(name: string): ModelTool | undefined {
    return this.#tools.get(name);
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  knows(name: string): boolean {
    if (name === "" || name.length > MAX_NAME) return false;
    return this.anyTool || (this.#options.unknownTools ?? this.#unknownTools) === "call" || this.#tools.has(name);
  }

  accept({ name: written, input, id, reasoning, warnings = [] }: ReadCall): boolean {
    const name = this.#tools.spelled(written);
    if (this.#calls >= MAX_CALLS || !this.knows(name) || (this.#cutOff && this.input.ended)) return false;
    if (this.#calls === 0) for (const [given, qualified] of this.#tools.qualified()) this.#toolNames.set(given, qualified);
    const key = this.#calls++;
    this.#failed = false;
    this.#tell();
    this.#pending = "";
    if (this.#silent) this.#space = "";
    this.#held = "";
    this.input.mark();
    for (const warning of warnings) this.warn(`The call of ${JSON.stringify(name)} was corrected. ${warning}`);
    this.#builder.open(key, { name, id, reasoning, ...(warnings.length === 0 ? {} : { warnings }) });
    if (typeof input === "string") this.#argumentText(key, name, input);
    else this.#builder.setInput(key, input);
    this.#builder.seal(key);
    return true;
  }

  /** Sets arguments that are not strict JSON: the parsed object if it is unambiguous; else the text, for the runtime to repair or refuse. */
  #argumentText(key: number, name: string, text: string): void {
    const sure = readSureJson(text);
    if (sure !== undefined && isJsonObject(sure.value)) {
      this.warn(`The arguments of ${JSON.stringify(name)} are not strict JSON: ${sure.note}.`);
      return this.#builder.setInput(key, sure.value);
    }
    const twice = readOutline(text)?.outline.twice;
    if (twice !== undefined) this.warn(`The call of ${JSON.stringify(name)} has ${JSON.stringify(twice)} twice in one object.`);
    this.#builder.argumentText(key, text);
  }

  warn(warning: string): void {
    this.#warnings.push(warning);
    this.#builder.warn(warning);
  }

  settle(): void {
    this.#held = "";
    this.input.mark();
  }

  /** Returns how many characters at the end of a text, which begins with a mark, are only calls. */
  static callsAtEnd(text: string, grammar: TextGrammar, options: DecodeTextOptions): number {
    const reader = new TextReader(grammar, { ...options, thinking: "split", maxChars: Number.POSITIVE_INFINITY });
    reader.#neverClosed = new Set();
    reader.#thought = true;
    reader.#tail = text.length;
    reader.push(text);
    reader.end();
    return reader.#wordsSinceTail || reader.#calls === 0 ? 0 : reader.#tail;
  }

  think(text: string): void {
    this.#thought = true;
    this.#wordsSinceTail = true;
    this.#reason(text);
  }

  #reason(text: string): void {
    this.#tell();
    this.#builder.reasoning(text);
  }

  say(text: string): void {
    this.#code.feed(text);
    this.#say(text);
  }

  #say(text: string): void {
    const begun = this.#skipSpace ? text.trimStart() : text;
    const words = begun.trimEnd();
    if (words === "") {
      if (this.#pending === "") this.#space += begun;
      else this.#pending += begun;
      return;
    }
    if (this.#space !== "" || this.#pending !== "") this.#said.push(this.#space, this.#unusedMarks);
    this.#said.push(words);
    this.#wordsSinceTail = true;
    this.#pending = "";
    this.#space = words.length < begun.length ? begun.slice(words.length) : "";
    this.#skipSpace = false;
    this.#silent = false;
  }

  get #unusedMarks(): string {
    return this.#reached ? this.#pending.slice(this.#pending.trimEnd().length) : this.#pending;
  }

  /** Emits the collected text as one event. */
  #tell(): void {
    if (this.#said.length === 0) return;
    this.#builder.text(this.#said.join(""));
    this.#said = [];
  }

  *#read(): Reading<void> {
    const say = (text: string): void => this.say(text);
    if (this.#options.thinking === "begun" && this.#roles.thinking.length > 0) yield* this.#begun();
    this.input.mark();
    const { start } = this.#grammar;
    if (start !== undefined) yield* this.#call("", { mark: "", ...start });
    for (;;) {
      const mark = yield* this.input.until(this.#roles.marks, say);
      this.input.mark();
      const role = mark === undefined ? undefined : this.#roles.roles.get(mark);
      if (mark === undefined || role === undefined) break;
      yield* this.#mark(mark, role);
      this.input.mark();
    }
    this.#flush();
  }

  *#mark(mark: string, role: Role): Reading<void> {
    if (this.#wordsSinceTail) this.#tail = this.input.left + mark.length;
    this.#wordsSinceTail = false;
    if (role.kind === "call") {
      const counts = this.#counts(role.call);
      if (counts && (yield* this.input.goesOn(role.call.behind ?? []))) return yield* this.#call(mark, role.call);
      if (counts) this.#failed = true; // as if a call had begun
      this.say(mark);
    } else if (role.kind === "thinking") {
      if (this.#code.quoted) this.say(mark);
      else yield* this.#think(role.end, mark);
    } else if (role.kind === "hidden") {
      const { marker, text } = yield* this.input.textUntil(role.close);
      if (marker === undefined) this.say(mark + text);
    } else if (role.kind === "before") {
      if (this.#code.quoted) return this.say(mark);
      this.#pending += mark;
      this.#code.feed(mark);
    } else if (role.kind === "after") {
      if (!this.#reached || this.#failed || this.#code.quoted) this.say(mark);
      this.#failed = false;
    } else if (role.kind === "thinking-close" && (this.#keepThinking || this.#code.quoted)) this.say(mark);
  }

  /** Whether the message has a call or thinking: then a mark of the format is a mark, and not text for people. */
  get #reached(): boolean {
    return this.#calls > 0 || this.#thought;
  }

  #counts({ where = "anywhere" }: CallMark): boolean {
    if (where === "anywhere") return true;
    if (where === "start") return this.#silent;
    return !this.#code.quoted && (where === "prose" || this.#code.beginsLine);
  }

  *#call(mark: string, { read, wraps = false, unknownTools }: CallMark): Reading<void> {
    this.#unknownTools = unknownTools ?? this.#grammar.unknownTools ?? "call";
    this.#held = mark;
    if (!(yield* read(this, mark))) {
      const text = this.#held + this.input.kept();
      const around = wraps && text.startsWith(mark) ? mark : "";
      this.#pending += around;
      this.#code.feed(around);
      this.say(text.slice(around.length));
      this.#failed = mark !== around;
    }
    this.#held = "";
  }

  /** Reads thinking that the prompt opened; some models repeat the opening mark. */
  *#begun(): Reading<void> {
    yield* this.input.space();
    for (const [open] of this.#roles.thinking) if (yield* this.input.take(open)) break;
    this.input.mark();
    yield* this.#think(this.#roles.begun, "");
  }

  /** Reads thinking piece by piece. White space around it is dropped, unless thinking is kept as text. */
  *#think(end: ThinkingEnd, open: string): Reading<void> {
    const tell = this.#keepThinking ? (text: string): void => this.#say(text) : this.#thinker();
    if (this.#keepThinking) this.#say(open);
    this.#thought = true;
    const marker = yield* this.input.until(end.ends, (text) => {
      this.input.mark();
      tell(text);
    });
    if (marker !== undefined && !end.closing.has(marker)) return yield* this.#endThinking(end, marker, tell);
    if (this.#keepThinking) this.#say(marker ?? "");
    else this.#afterThinking();
  }

  /** Returns a function that reports pieces of thinking, without the white space around the whole. */
  #thinker(): (text: string) => void {
    let begun = false;
    let space = "";
    return (piece) => {
      const text = begun ? piece : piece.trimStart();
      const words = text.trimEnd();
      if (words === "") {
        space += text;
        return;
      }
      begun = true;
      this.think(space + words);
      space = text.slice(words.length);
    };
  }

  #afterThinking(): void {
    if (this.#silent) this.#space = "";
    this.#skipSpace = this.#silent;
  }

  /**
   * Handles a mark that ends thinking without closing it. If thinking is closed later after all, or words follow the calls, the text up to there is
   * thinking, including the calls.
   */
  *#endThinking(end: ThinkingEnd, mark: string, tell: (text: string) => void): Reading<void> {
    if (this.#neverClosed?.has(end) !== true) {
      const { text: rest, marker } = yield* this.#toClose(end, mark);
      const calls = marker !== undefined || this.#cutOff ? 0 : this.#callsIn(rest);
      if (calls < rest.length) tell(rest.slice(0, rest.length - calls));
      if (this.#keepThinking) this.#say(marker ?? "");
      else this.#afterThinking();
      if (marker === undefined) this.#neverClosed?.add(end);
      return this.input.restore(rest.slice(rest.length - calls));
    }
    if (!this.#keepThinking) this.#afterThinking();
    this.input.mark();
    const role = this.#roles.roles.get(mark);
    if (role !== undefined) yield* this.#mark(mark, role);
  }

  /** Reads from a mark in thinking to the mark that closes the thinking. The end of a call inside it does not count. */
  *#toClose({ closes }: ThinkingEnd, mark: string): Reading<{ readonly text: string; readonly marker: string | undefined }> {
    const pieces: string[] = [];
    for (let before = mark; ;) {
      const { text, marker } = yield* this.input.textUntil(closes);
      pieces.push(before, text);
      if (marker === undefined || this.#grammar.endsCall?.(before + text, marker) !== true) return { text: pieces.join(""), marker };
      before = marker;
    }
  }

  /** Returns how many characters at the end of the text are calls. In a tail, which is read only once, the first call after thinking ends it. */
  #callsIn(rest: string): number {
    return this.#neverClosed === undefined ? TextReader.callsAtEnd(rest, this.#grammar, this.#options) : rest.length;
  }

  #flush(): void {
    if (this.#calls === 0) this.#said.push(this.#space, this.#unusedMarks);
    this.#tell();
  }
}
