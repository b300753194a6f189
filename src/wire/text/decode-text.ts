/** Reads a message by a grammar: the reader that all text formats share. */
import { ToolError } from "../../core/error.ts";
import { endedWell, type ModelEvent, type ModelTool } from "../../core/model.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { readOutline, readUnambiguousJson } from "../../schema/json-text/read-unambiguous-json.ts";
import { ReplyBuilder } from "../reply-builder.ts";
import { QuotationTracker } from "./quotation-tracker.ts";
import { rolesOf, type Role, type Roles, type ThinkingEnd } from "./grammar-roles.ts";
import type { DecodeTextOptions, TextDecoding, TextEnding } from "./text-format.ts";
import type { CallMark, ReadCall, ReaderContext, TextGrammar } from "./text-grammar.ts";
import { TextInput, type Reading } from "./text-input.ts";
import { ToolNames } from "./tool-names.ts";

const DEFAULT_MAX_CHARS = 16 * 1024 * 1024;
const MAX_CALLS = 1_024;
const MAX_NAME = 256;
const NO_TOOLS: readonly ModelTool[] = [];

export function decodeText(grammar: TextGrammar, options: DecodeTextOptions = {}): TextDecoding {
  return new TextReader(grammar, options);
}

class TextReader implements TextDecoding, ReaderContext {
  readonly input = new TextInput();
  readonly acceptsAnyTool: boolean;
  readonly #grammar: TextGrammar;
  readonly #options: DecodeTextOptions;
  readonly #roles: Roles;
  readonly #keepThinking: boolean;
  readonly #tools: ToolNames;
  /** Set at the first call. */
  readonly #toolNames = new Map<string, string>();
  readonly #builder: ReplyBuilder;
  readonly #warnings: string[] = [];
  readonly #code = new QuotationTracker();
  readonly #run: Reading<void>;
  /** The kinds of thinking that are never closed again in a tail that is read to find its calls; undefined when a message is read. */
  #unclosedThinking: Set<ThinkingEnd> | undefined;
  /** Number of characters from the mark at which the tail begins to the end; this mark is the first one after all words. */
  #tailLength = 0;
  /** Whether there were words, or thinking, since the mark at which the tail begins. */
  #hasTextSinceTail = false;
  #charsLeft: number;
  #calls = 0;
  #hasThinking = false;
  /** Whether a mark was read as text because no call followed it: then the mark that ends the call is text as well. */
  #hasFailedCall = false;
  #unknownTools: "text" | "call" = "call";
  /** The text read as the beginning of a call, before the text that the input keeps. */
  #heldText = "";
  /** Marks that are dropped if a call follows, with the white space after them. */
  #pendingMarks = "";
  /** White space that is dropped if a call, or the end, follows. */
  #pendingSpace = "";
  /** The text since the last event. */
  #pendingText: string[] = [];
  #skipSpace = false;
  #hasNoText = true;
  #isCutOff = false;
  #isEnded = false;

  constructor(grammar: TextGrammar, options: DecodeTextOptions) {
    const { tools = NO_TOOLS, thinking = "split", maxChars = DEFAULT_MAX_CHARS } = options;
    this.#grammar = grammar;
    this.#options = options;
    this.#roles = rolesOf(grammar);
    this.#keepThinking = thinking === "keep";
    this.acceptsAnyTool = options.tools === undefined;
    this.#tools = new ToolNames(tools);
    this.#builder = new ReplyBuilder({ toolNames: this.#toolNames, maxChars });
    this.#charsLeft = maxChars;
    this.#run = this.#readMessage();
    this.#run.next();
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  get bodyArguments(): Readonly<Record<string, string>> {
    return this.#options.bodyArguments ?? {};
  }

  get hasNoText(): boolean {
    return this.#hasNoText;
  }

  push(text: string): readonly ModelEvent[] {
    if (this.#isEnded || text === "") return [];
    if ((this.#charsLeft -= text.length) < 0)
      throw new ToolError("too_large", "A message of the model has more characters than are allowed.");
    this.input.feed(text);
    this.#run.next();
    this.#emitText();
    return this.#builder.takeEvents();
  }

  pushReasoning(text: string): readonly ModelEvent[] {
    if (!this.#isEnded) this.#emitReasoning(text);
    return this.#builder.takeEvents();
  }

  end({ finish = "stop", finishDetail, usage = {}, model, id }: TextEnding = {}): readonly ModelEvent[] {
    if (this.#isEnded) return [];
    this.#isEnded = true;
    this.#isCutOff = !endedWell(finish);
    this.input.end();
    this.#run.next();
    this.#builder.addUsage(usage);
    this.#builder.setMetadata({ model, id });
    this.#builder.setFinish(finish, finishDetail);
    this.#builder.endReply();
    return this.#builder.takeEvents();
  }

  findTool(name: string): ModelTool | undefined {
    return this.#tools.get(name);
  }

  hasTool(name: string): boolean {
    return this.#tools.has(name);
  }

  acceptsName(name: string): boolean {
    if (name === "" || name.length > MAX_NAME) return false;
    return this.acceptsAnyTool || (this.#options.unknownTools ?? this.#unknownTools) === "call" || this.#tools.has(name);
  }

  acceptCall({ name: written, input, id, reasoning, warnings = [] }: ReadCall): boolean {
    const name = this.#tools.normalizeName(written);
    if (this.#calls >= MAX_CALLS || !this.acceptsName(name) || (this.#isCutOff && this.input.ended)) return false;
    if (this.#calls === 0) for (const [given, qualified] of this.#tools.qualifiedNames()) this.#toolNames.set(given, qualified);
    const key = this.#calls++;
    this.#hasFailedCall = false;
    this.#emitText();
    this.#pendingMarks = "";
    if (this.#hasNoText) this.#pendingSpace = "";
    this.#heldText = "";
    this.input.setMark();
    for (const warning of warnings) this.warn(`The call of ${JSON.stringify(name)} was corrected. ${warning}`);
    this.#builder.openCall(key, { name, id, reasoning, ...(warnings.length === 0 ? {} : { warnings }) });
    if (typeof input === "string") this.#setArguments(key, name, input);
    else this.#builder.setInput(key, input);
    this.#builder.sealCall(key);
    return true;
  }

  /** Sets arguments that are not strict JSON: the parsed object if it is unambiguous; else the text, for the runtime to repair or refuse. */
  #setArguments(key: number, name: string, text: string): void {
    const unambiguous = readUnambiguousJson(text);
    if (unambiguous !== undefined && isJsonObject(unambiguous.value)) {
      this.warn(`The arguments of ${JSON.stringify(name)} are not strict JSON: ${unambiguous.note}.`);
      return this.#builder.setInput(key, unambiguous.value);
    }
    const repeatedKey = readOutline(text)?.outline.repeatedKey;
    if (repeatedKey !== undefined) this.warn(`The call of ${JSON.stringify(name)} has ${JSON.stringify(repeatedKey)} twice in one object.`);
    this.#builder.addArgumentText(key, text);
  }

  warn(warning: string): void {
    this.#warnings.push(warning);
    this.#builder.addWarning(warning);
  }

  commit(): void {
    this.#heldText = "";
    this.input.setMark();
  }

  /** Returns how many characters at the end of a text, which begins with a mark, are only calls. */
  static countCallCharsAtEnd(text: string, grammar: TextGrammar, options: DecodeTextOptions): number {
    const reader = new TextReader(grammar, { ...options, thinking: "split", maxChars: Number.POSITIVE_INFINITY });
    reader.#unclosedThinking = new Set();
    reader.#hasThinking = true;
    reader.#tailLength = text.length;
    reader.push(text);
    reader.end();
    return reader.#hasTextSinceTail || reader.#calls === 0 ? 0 : reader.#tailLength;
  }

  addThinking(text: string): void {
    this.#hasThinking = true;
    this.#hasTextSinceTail = true;
    this.#emitReasoning(text);
  }

  #emitReasoning(text: string): void {
    this.#emitText();
    this.#builder.addReasoning(text);
  }

  addText(text: string): void {
    this.#code.feed(text);
    this.#addText(text);
  }

  #addText(text: string): void {
    const begun = this.#skipSpace ? text.trimStart() : text;
    const words = begun.trimEnd();
    if (words === "") {
      if (this.#pendingMarks === "") this.#pendingSpace += begun;
      else this.#pendingMarks += begun;
      return;
    }
    if (this.#pendingSpace !== "" || this.#pendingMarks !== "") this.#pendingText.push(this.#pendingSpace, this.#unusedMarks);
    this.#pendingText.push(words);
    this.#hasTextSinceTail = true;
    this.#pendingMarks = "";
    this.#pendingSpace = words.length < begun.length ? begun.slice(words.length) : "";
    this.#skipSpace = false;
    this.#hasNoText = false;
  }

  get #unusedMarks(): string {
    return this.#hasCallOrThinking ? this.#pendingMarks.slice(this.#pendingMarks.trimEnd().length) : this.#pendingMarks;
  }

  /** Emits the collected text as one event. */
  #emitText(): void {
    if (this.#pendingText.length === 0) return;
    this.#builder.addText(this.#pendingText.join(""));
    this.#pendingText = [];
  }

  *#readMessage(): Reading<void> {
    const addText = (text: string): void => this.addText(text);
    if (this.#options.thinking === "begun" && this.#roles.thinking.length > 0) yield* this.#readPromptThinking();
    this.input.setMark();
    const { start } = this.#grammar;
    if (start !== undefined) yield* this.#readCall("", { mark: "", ...start });
    for (;;) {
      const mark = yield* this.input.readUntil(this.#roles.marks, addText);
      this.input.setMark();
      const role = mark === undefined ? undefined : this.#roles.roles.get(mark);
      if (mark === undefined || role === undefined) break;
      yield* this.#readMark(mark, role);
      this.input.setMark();
    }
    this.#flushText();
  }

  *#readMark(mark: string, role: Role): Reading<void> {
    if (this.#hasTextSinceTail) this.#tailLength = this.input.unreadLength + mark.length;
    this.#hasTextSinceTail = false;
    if (role.kind === "call") {
      const counts = this.#isActiveMark(role.call);
      if (counts && (yield* this.input.matchesNext(role.call.nextPatterns ?? []))) return yield* this.#readCall(mark, role.call);
      if (counts) this.#hasFailedCall = true; // as if a call had begun
      this.addText(mark);
    } else if (role.kind === "thinking") {
      if (this.#code.isQuoted) this.addText(mark);
      else yield* this.#readThinking(role.end, mark);
    } else if (role.kind === "hidden") {
      const { marker, text } = yield* this.input.readTextUntil(role.close);
      if (marker === undefined) this.addText(mark + text);
    } else if (role.kind === "before") {
      if (this.#code.isQuoted) return this.addText(mark);
      this.#pendingMarks += mark;
      this.#code.feed(mark);
    } else if (role.kind === "after") {
      if (!this.#hasCallOrThinking || this.#hasFailedCall || this.#code.isQuoted) this.addText(mark);
      this.#hasFailedCall = false;
    } else if (role.kind === "thinking-close" && (this.#keepThinking || this.#code.isQuoted)) this.addText(mark);
  }

  /** Whether the message has a call or thinking: then a mark of the format is a mark, and not text for people. */
  get #hasCallOrThinking(): boolean {
    return this.#calls > 0 || this.#hasThinking;
  }

  #isActiveMark({ where = "anywhere" }: CallMark): boolean {
    if (where === "anywhere") return true;
    if (where === "start") return this.#hasNoText;
    return !this.#code.isQuoted && (where === "prose" || this.#code.isAtLineStart);
  }

  *#readCall(mark: string, { read, wraps = false, unknownTools }: CallMark): Reading<void> {
    this.#unknownTools = unknownTools ?? this.#grammar.unknownTools ?? "call";
    this.#heldText = mark;
    if (!(yield* read(this, mark))) {
      const text = this.#heldText + this.input.textSinceMark();
      const wrappingMark = wraps && text.startsWith(mark) ? mark : "";
      this.#pendingMarks += wrappingMark;
      this.#code.feed(wrappingMark);
      this.addText(text.slice(wrappingMark.length));
      this.#hasFailedCall = mark !== wrappingMark;
    }
    this.#heldText = "";
  }

  /** Reads thinking that the prompt opened; some models repeat the opening mark. */
  *#readPromptThinking(): Reading<void> {
    yield* this.input.skipSpace();
    for (const [open] of this.#roles.thinking) if (yield* this.input.tryRead(open)) break;
    this.input.setMark();
    yield* this.#readThinking(this.#roles.promptThinking, "");
  }

  /** Reads thinking piece by piece. White space around it is dropped, unless thinking is kept as text. */
  *#readThinking(end: ThinkingEnd, open: string): Reading<void> {
    const report = this.#keepThinking ? (text: string): void => this.#addText(text) : this.#thinkingReporter();
    if (this.#keepThinking) this.#addText(open);
    this.#hasThinking = true;
    const marker = yield* this.input.readUntil(end.ends, (text) => {
      this.input.setMark();
      report(text);
    });
    if (marker !== undefined && !end.closing.has(marker)) return yield* this.#endThinkingAtMark(end, marker, report);
    if (this.#keepThinking) this.#addText(marker ?? "");
    else this.#skipSpaceAfterThinking();
  }

  /** Returns a function that reports pieces of thinking, without the white space around the whole. */
  #thinkingReporter(): (text: string) => void {
    let hasStarted = false;
    let space = "";
    return (piece) => {
      const text = hasStarted ? piece : piece.trimStart();
      const words = text.trimEnd();
      if (words === "") {
        space += text;
        return;
      }
      hasStarted = true;
      this.addThinking(space + words);
      space = text.slice(words.length);
    };
  }

  #skipSpaceAfterThinking(): void {
    if (this.#hasNoText) this.#pendingSpace = "";
    this.#skipSpace = this.#hasNoText;
  }

  /**
   * Handles a mark that ends thinking without closing it. If thinking is closed later after all, or words follow the calls, the text up to there is
   * thinking, including the calls.
   */
  *#endThinkingAtMark(end: ThinkingEnd, mark: string, report: (text: string) => void): Reading<void> {
    if (this.#unclosedThinking?.has(end) !== true) {
      const { text: rest, marker } = yield* this.#readToThinkingEnd(end, mark);
      const calls = marker !== undefined || this.#isCutOff ? 0 : this.#countCallChars(rest);
      if (calls < rest.length) report(rest.slice(0, rest.length - calls));
      if (this.#keepThinking) this.#addText(marker ?? "");
      else this.#skipSpaceAfterThinking();
      if (marker === undefined) this.#unclosedThinking?.add(end);
      return this.input.putBack(rest.slice(rest.length - calls));
    }
    if (!this.#keepThinking) this.#skipSpaceAfterThinking();
    this.input.setMark();
    const role = this.#roles.roles.get(mark);
    if (role !== undefined) yield* this.#readMark(mark, role);
  }

  /** Reads from a mark in thinking to the mark that closes the thinking. The end of a call inside it does not count. */
  *#readToThinkingEnd({ closes }: ThinkingEnd, mark: string): Reading<{ readonly text: string; readonly marker: string | undefined }> {
    const pieces: string[] = [];
    for (let before = mark; ;) {
      const { text, marker } = yield* this.input.readTextUntil(closes);
      pieces.push(before, text);
      if (marker === undefined || this.#grammar.endsCall?.(before + text, marker) !== true) return { text: pieces.join(""), marker };
      before = marker;
    }
  }

  /** Returns how many characters at the end of the text are calls. In a tail, which is read only once, the first call after thinking ends it. */
  #countCallChars(rest: string): number {
    return this.#unclosedThinking === undefined ? TextReader.countCallCharsAtEnd(rest, this.#grammar, this.#options) : rest.length;
  }

  #flushText(): void {
    if (this.#calls === 0) this.#pendingText.push(this.#pendingSpace, this.#unusedMarks);
    this.#emitText();
  }
}
