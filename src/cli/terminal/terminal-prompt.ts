/** The line that a person types at a terminal; other output appears above it. */
import { clearScreenDown, createInterface, cursorTo, moveCursor, type Interface } from "node:readline";
import type { AskOptions } from "../command.ts";
import type { Output } from "./terminal-text.ts";
import { KeyActivity } from "./key-activity.ts";

/** A terminal: its keyboard and its screen. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Whether the terminal may be asked to mark the beginning and end of a paste. Terminals without support ignore that, or print it. */
  readonly marksPastes: boolean;
  /** Called at Ctrl-C. */
  readonly onInterrupt: () => void;
}

/** A question that is not answered yet. */
interface Question {
  readonly text: string;
  readonly isPrompt: boolean;
  readonly resolve: (line: string | undefined) => void;
  readonly reject: (reason: unknown) => void;
  /** The lines typed so far. `draft`: the unfinished line of a question that was interrupted. */
  readonly typed: string[];
  draft: { readonly line: string; readonly cursor: number };
  line: Interface | undefined;
  /** Resolves the question with the lines typed so far; set once its first line has ended. */
  settle: (() => void) | undefined;
}

/** Turns "bracketed paste" on. @see https://invisible-island.net/xterm/ctlseqs/ctlseqs.html */
const ENABLE_PASTE_MARKS = "\u001b[?2004h";
const DISABLE_PASTE_MARKS = "\u001b[?2004l";

/** Returns the empty lines before a question of one line, which move with it. */
function leadingGap(text: string): string {
  const gap = /^\n*/u.exec(text)?.[0] ?? "";
  return text.indexOf("\n", gap.length) < 0 ? gap : "";
}

function closeLine(question: Question): void {
  const { line } = question;
  question.line = undefined;
  line?.close();
}

/** Asks one question at a time. A new question interrupts the current one, whose typed text is restored later; a new prompt waits instead. */
export class TerminalPrompt {
  readonly #terminal: Terminal;
  readonly #questions: Question[] = [];
  readonly #outputs: LineBufferedOutput[] = [];
  readonly #keyActivity = new KeyActivity();
  /** The line of the current question. */
  #line: Interface | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Resolves to the typed line; undefined at Ctrl-D, which for a prompt may be typed ahead. Rejects with the reason when the signal aborts. */
  readonly ask = (text: string, signal: AbortSignal, { isPrompt = false }: AskOptions = {}): Promise<string | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
    const draft = { line: "", cursor: 0 };
    const question: Question = { text, isPrompt, resolve, reject, typed: [], draft, line: undefined, settle: undefined };
    const withdraw = (): void => {
      if (this.#questions.at(-1) === question) this.#terminal.output.write("\n");
      reject(signal.reason);
    };
    signal.addEventListener("abort", withdraw, { once: true });
    if (signal.aborted) withdraw();
    else if (isPrompt && this.#questions.length > 0) this.#questions.unshift(question);
    else {
      if (this.#questions.length === 0) this.#keyActivity.reset();
      this.#suspendQuestion();
      this.#questions.push(question);
      const start = text.lastIndexOf("\n") + 1;
      this.#terminal.output.write(text.slice(0, start));
      this.#openQuestion(question);
    }
    return promise.finally(() => {
      signal.removeEventListener("abort", withdraw);
      this.#closeQuestion(question);
    });
  };

  /** Wraps an output so that complete lines appear above an open question. The rest waits for the end of its line, or of the question. */
  wrapOutput(output: Output): Output {
    const held = new LineBufferedOutput(output, this);
    this.#outputs.push(held);
    return {
      write: (text) => held.write(text),
      isTTY: output.isTTY === true,
      get columns() {
        return output.columns ?? 0;
      },
      get writableNeedDrain() {
        return output.writableNeedDrain === true;
      },
      get isLost() {
        return output.isLost === true;
      },
      once: (event, listener) => output.once?.(event, listener),
    };
  }

  get isOpen(): boolean {
    return this.#line !== undefined;
  }

  /** Calls `write` without disturbing the line that is being typed. */
  writeAbove(write: () => void): void {
    const line = this.#line;
    const question = this.#questions.at(-1);
    if (line === undefined || question === undefined) return write();
    this.#eraseLine(line, question);
    write();
    this.#terminal.output.write(leadingGap(question.text));
    Object.assign(line, { prevRows: 0 }); // the rows in which it was drawn are gone
    line.prompt(true);
  }

  #eraseLine(line: Interface, { text }: Question): void {
    const { output } = this.#terminal;
    moveCursor(output, 0, -line.getCursorPos().rows - leadingGap(text).length);
    cursorTo(output, 0);
    clearScreenDown(output);
  }

  #openQuestion(question: Question): void {
    if (question.isPrompt) this.#showQuestion(question);
    else this.#discardTypedAhead(question);
  }

  /** Reads and drops what was typed while no question was open: the terminal has kept it, and would take it as the answer. */
  #discardTypedAhead(question: Question): void {
    const line = this.#createLine(question, { terminal: true });
    line.on("close", () => {
      if (question.line === line) question.resolve(undefined);
    });
    const showWhenQuiet = async (): Promise<void> => {
      await this.#keyActivity.waitUntilQuiet();
      if (question.line !== line) return;
      closeLine(question);
      this.#showQuestion(question);
    };
    showWhenQuiet().catch(question.reject);
  }

  #createLine(question: Question, options: { readonly output: NodeJS.WritableStream } | { readonly terminal: true }): Interface {
    const { input, output, marksPastes, onInterrupt } = this.#terminal;
    const line = createInterface({ input, ...options });
    question.line = line;
    const unwatch = this.#keyActivity.watch(input);
    const markNoPastes = (): void => void output.write(DISABLE_PASTE_MARKS);
    if (marksPastes) {
      output.write(ENABLE_PASTE_MARKS);
      process.once("exit", markNoPastes); // even if the process ends at once
    }
    line.once("close", () => {
      unwatch();
      if (!marksPastes) return;
      process.off("exit", markNoPastes);
      markNoPastes();
    });
    line.on("SIGINT", onInterrupt);
    line.on("SIGCONT", () => {
      line.resume(); // Ctrl-Z has paused it, and the shell has used the terminal since
      if (marksPastes) output.write(ENABLE_PASTE_MARKS);
    });
    line.on("error", () => question.resolve(undefined)); // the terminal was closed, which is the end of its input
    return line;
  }

  #showQuestion(question: Question): void {
    const { output } = this.#terminal;
    const line = this.#createLine(question, { output });
    this.#line = line;
    if (question.isPrompt) this.#endTypedAhead(line);
    line.on("close", () => {
      if (this.#line !== line) return;
      output.write("\n");
      question.resolve(undefined);
    });
    // Pasted lines are one answer, so that none of them answers a question that was not asked yet.
    line.on("line", (text) => question.typed.push(text));
    line.question(question.text.slice(question.text.lastIndexOf("\n") + 1), (text) => {
      question.typed.push(text);
      this.#releaseLine(); // the line stays on the screen as it is
      question.settle = () => question.resolve([...question.typed, ...(line.line === "" ? [] : [line.line])].join("\n"));
      void this.#keyActivity.waitUntilQuiet().then(question.settle);
    });
    const { draft } = question;
    if (draft.line === "") return;
    line.write(draft.line);
    for (let left = draft.line.length; left > draft.cursor; left--) line.write(null, { name: "left" });
  }

  /** Treats a Ctrl-D that was typed ahead as the end of the input. The terminal delivers it as U+0000, which later means Ctrl-Space. */
  #endTypedAhead(line: Interface): void {
    const { input } = this.#terminal;
    const onKey = (text: string | undefined): void => {
      if (text === "\u0000" && line.line === "") line.close();
    };
    input.on("keypress", onKey);
    void this.#keyActivity.waitUntilQuiet().then(() => input.off("keypress", onKey));
  }

  /** Takes the line from the current question, which gets it back later. */
  #suspendQuestion(): void {
    const question = this.#questions.at(-1);
    if (question === undefined) return;
    const line = this.#line;
    if (line !== undefined) {
      question.draft = { line: line.line, cursor: line.cursor };
      this.#eraseLine(line, question);
      this.#releaseLine();
    }
    question.settle?.();
    closeLine(question);
  }

  /** Called when nothing more is typed on the line. */
  #releaseLine(): void {
    this.#line = undefined;
    for (const output of this.#outputs) output.flush();
  }

  #closeQuestion(question: Question): void {
    const at = this.#questions.indexOf(question);
    if (at < 0) return;
    const hadLine = at === this.#questions.length - 1;
    this.#questions.splice(at, 1);
    if (!hadLine) return;
    if (this.#line !== undefined) this.#releaseLine();
    closeLine(question); // its close listener stops watching the keys
    const next = this.#questions.at(-1);
    if (next === undefined) return;
    this.#terminal.output.write(leadingGap(next.text));
    this.#openQuestion(next);
  }
}

/** An output that holds back an incomplete line while a person types. */
class LineBufferedOutput {
  readonly #output: Output;
  readonly #prompt: TerminalPrompt;
  #incompleteLine = "";

  constructor(output: Output, prompt: TerminalPrompt) {
    this.#output = output;
    this.#prompt = prompt;
  }

  write(text: string): void {
    if (!this.#prompt.isOpen) return void this.#output.write(text);
    const all = this.#incompleteLine + text;
    const end = all.lastIndexOf("\n") + 1;
    this.#incompleteLine = all.slice(end);
    if (end > 0) this.#prompt.writeAbove(() => this.#output.write(all.slice(0, end)));
  }

  flush(): void {
    const held = this.#incompleteLine;
    this.#incompleteLine = "";
    if (held !== "") this.#output.write(held);
  }
}
