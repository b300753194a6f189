/** Reads a message by a grammar: the one reader under all text formats. */
import { ToolError } from "../../core/error.ts";
import { endedWell } from "../../core/model.ts";
import type { ModelEvent, ModelTool } from "../../core/model.ts";
import { providerName } from "../provider-name.ts";
import { ReplyBuilder } from "../reply-builder.ts";
import { CodeSpan } from "./code-span.ts";
import { MarkerSet } from "./marker-set.ts";
import type { DecodeTextOptions, TextDecoding, TextEnding } from "./text-format.ts";
import type { CallMark, ReadCall, ReadPlace, TextGrammar } from "./text-grammar.ts";
import { TextInput } from "./text-input.ts";
import type { Reading } from "./text-input.ts";

const DEFAULT_MAX_CHARS = 16 * 1024 * 1024;
const MAX_CALLS = 1_024;
const MAX_NAME = 256;
const DEFAULT_THINKING: TextGrammar["thinking"] = [["<think>", "</think>"]];
const NO_TOOLS: readonly ModelTool[] = [];

type Role =
  | { readonly kind: "call"; readonly call: CallMark }
  | { readonly kind: "before" | "after" | "unsaid" }
  | { readonly kind: "thinking" | "hidden"; readonly close: MarkerSet };

export function decodeText(grammar: TextGrammar, options: DecodeTextOptions = {}): TextDecoding {
  return new TextReader(grammar, options);
}

/** What each mark of a grammar means, found out once. */
interface Roles {
  readonly marks: MarkerSet;
  readonly roles: ReadonlyMap<string, Role>;
}

const known = new WeakMap<TextGrammar, Map<boolean, Roles>>();

function rolesOf(grammar: TextGrammar, keepThinking: boolean): Roles {
  const kept = known.get(grammar) ?? new Map<boolean, Roles>();
  known.set(grammar, kept);
  const found = kept.get(keepThinking) ?? readRoles(grammar, keepThinking);
  kept.set(keepThinking, found);
  return found;
}

function readRoles(grammar: TextGrammar, keepThinking: boolean): Roles {
  const roles = new Map<string, Role>();
  for (const mark of grammar.unsaid ?? []) roles.set(mark, { kind: "unsaid" });
  for (const mark of grammar.after ?? []) roles.set(mark, { kind: "after" });
  for (const mark of grammar.before ?? []) roles.set(mark, { kind: "before" });
  for (const [open, close] of grammar.hidden ?? []) roles.set(open, { kind: "hidden", close: new MarkerSet([close]) });
  if (!keepThinking)
    for (const [open, close] of grammar.thinking ?? DEFAULT_THINKING ?? [])
      roles.set(open, { kind: "thinking", close: new MarkerSet([close, ...(grammar.thinkingEnds ?? [])]) });
  for (const call of grammar.calls) roles.set(call.mark, { kind: "call", call });
  return { marks: new MarkerSet(roles.keys()), roles };
}

class TextReader implements TextDecoding, ReadPlace {
  readonly input = new TextInput();
  readonly anyTool: boolean;
  readonly #grammar: TextGrammar;
  readonly #options: DecodeTextOptions;
  readonly #roles: Roles;
  readonly #tools: ReadonlyMap<string, ModelTool>;
  readonly #builder: ReplyBuilder;
  readonly #warnings: string[] = [];
  readonly #code = new CodeSpan();
  readonly #run: Reading<void>;
  #charsLeft: number;
  #calls = 0;
  /** Read as the beginning of a call, before what the input keeps. */
  #held = "";
  /** Marks that are nothing if a call follows, with the white space behind them. */
  #pending = "";
  /** White space that is left out if a call or nothing follows. */
  #space = "";
  /** Said since the last event. */
  #said: string[] = [];
  #skipSpace = false;
  #silent = true;
  #afterCall = false;
  #cutOff = false;
  #ended = false;

  constructor(grammar: TextGrammar, options: DecodeTextOptions) {
    const { tools = NO_TOOLS, thinking = "split", maxChars = DEFAULT_MAX_CHARS } = options;
    this.#grammar = grammar;
    this.#options = options;
    this.#roles = rolesOf(grammar, thinking === "keep");
    this.anyTool = options.tools === undefined;
    this.#tools = toolsByName(tools);
    const toolNames = new Map(Array.from(this.#tools, ([name, tool]) => [name, tool.name]));
    this.#builder = new ReplyBuilder({ toolNames, maxChars });
    this.#charsLeft = maxChars;
    this.#run = this.#read();
    this.#run.next();
  }

  get warnings(): readonly string[] {
    return this.#warnings;
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
    if (!this.#ended) this.think(text);
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
    return this.#tools.get(bareName(name)) ?? this.#tools.get(name);
  }

  knows(name: string): boolean {
    if (name === "" || name.length > MAX_NAME) return false;
    const unknown = this.#options.unknownTools ?? this.#grammar.unknownTools ?? "call";
    return this.anyTool || unknown === "call" || this.tool(name) !== undefined;
  }

  accept({ name, input, id, reasoning }: ReadCall): boolean {
    if (this.#calls >= MAX_CALLS || !this.knows(name) || (this.#cutOff && this.input.ended)) return false;
    const key = this.#calls++;
    this.#tell();
    this.#pending = "";
    if (this.#silent) this.#space = "";
    this.#held = "";
    this.input.mark();
    this.#afterCall = true;
    this.#builder.open(key, { name, id, reasoning });
    if (typeof input === "string") this.#builder.argumentText(key, input);
    else this.#builder.setInput(key, input);
    this.#builder.seal(key);
    return true;
  }

  warn(warning: string): void {
    this.#warnings.push(warning);
  }

  settle(): void {
    this.#held = "";
    this.input.mark();
  }

  think(text: string): void {
    this.#tell();
    this.#builder.reasoning(text);
  }

  say(text: string): void {
    this.#code.feed(text);
    const begun = this.#skipSpace ? text.trimStart() : text;
    const words = begun.trimEnd();
    if (words === "") {
      if (this.#pending === "") this.#space += begun;
      else this.#pending += begun;
      return;
    }
    if (this.#space !== "" || this.#pending !== "") this.#said.push(this.#space, this.#pending);
    this.#said.push(words);
    this.#pending = "";
    this.#space = words.length < begun.length ? begun.slice(words.length) : "";
    this.#skipSpace = false;
    this.#silent = false;
    this.#afterCall = false;
  }

  /** Makes one event of what was said. */
  #tell(): void {
    if (this.#said.length === 0) return;
    this.#builder.text(this.#said.join(""));
    this.#said = [];
  }

  *#read(): Reading<void> {
    const say = (text: string): void => this.say(text);
    const { thinking = DEFAULT_THINKING ?? [], start } = this.#grammar;
    const [first] = thinking;
    const begun = this.#options.thinking === "begun" ? first : undefined;
    if (begun !== undefined) yield* this.#think(begun[0], new MarkerSet([begun[1], ...(this.#grammar.thinkingEnds ?? [])]));
    if (start !== undefined) yield* this.#call("", { mark: "", read: start });
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
    if (role.kind === "call") {
      if (this.#counts(role.call) && this.input.mayGoOn(role.call.behind ?? [])) yield* this.#call(mark, role.call);
      else this.say(mark);
    } else if (role.kind === "thinking") {
      if (this.#code.quoted) this.say(mark);
      else yield* this.#think("", role.close);
    } else if (role.kind === "hidden") {
      const { marker, text } = yield* this.input.textUntil(role.close);
      if (marker === undefined) this.say(mark + text);
    } else if (role.kind === "before") {
      this.#pending += mark;
      this.#code.feed(mark);
    } else if (role.kind === "after" && !this.#afterCall) {
      this.say(mark);
    }
  }

  #counts({ where = "anywhere" }: CallMark): boolean {
    if (where === "anywhere") return true;
    if (where === "start") return this.#silent;
    return !this.#code.quoted && (where === "prose" || this.#code.beginsLine);
  }

  *#call(mark: string, { read, wraps = false }: CallMark): Reading<void> {
    this.#held = mark;
    if (!(yield* read(this, mark))) {
      const text = this.#held + this.input.kept();
      if (wraps && text.trim() === mark) this.#pending += text;
      else this.say(text);
    }
    this.#held = "";
  }

  /** Thinking streams; white space around it does not belong to it. */
  *#think(open: string, close: MarkerSet): Reading<void> {
    if (open !== "" && (yield* this.input.peek()) === open.charAt(0)) yield* this.input.take(open);
    let begun = false;
    let space = "";
    const marker = yield* this.input.until(close, (piece) => {
      this.input.mark();
      const text = begun ? piece : piece.trimStart();
      const words = text.trimEnd();
      if (words === "") {
        space += text;
        return;
      }
      begun = true;
      this.think(space + words);
      space = text.slice(words.length);
    });
    if (this.#silent) this.#space = "";
    this.#skipSpace = this.#silent;
    const role = marker === undefined ? undefined : this.#roles.roles.get(marker);
    if (marker === undefined || role === undefined || this.#grammar.thinkingEnds?.includes(marker) !== true) return;
    this.input.mark();
    yield* this.#mark(marker, role);
  }

  #flush(): void {
    if (this.#pending !== "" || this.#calls === 0) this.#said.push(this.#space, this.#pending);
    this.#tell();
  }
}

/** Tools by every name a model may know them by. */
function toolsByName(tools: readonly ModelTool[]): ReadonlyMap<string, ModelTool> {
  const byName = new Map<string, ModelTool>();
  for (const tool of tools) byName.set(providerName(tool.name, tool.fingerprint), tool);
  for (const tool of tools) for (const name of [tool.name, bareName(tool.name)]) if (!byName.has(name)) byName.set(name, tool);
  return byName;
}

function bareName(name: string): string {
  if (name.startsWith("functions.")) return name.slice("functions.".length);
  return name.startsWith("default::") ? name.slice("default::".length) : name;
}
