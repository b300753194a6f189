/** Asks the person at the terminal the questions of tools and servers, field by field. */
import type { QuestionAnswer, Ask as AskPerson, AskRequest } from "../../core/approvals/ask.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Ask, CommandContext } from "../command.ts";
import { enqueueQuestion } from "./question-queue.ts";
import { safeName, safeText, type Screen } from "./terminal-text.ts";

/** Maximum number of fields of a form that is filled in at a terminal. */
const MAX_FIELDS = 50;

/** Returns a function that asks the person; undefined without a terminal, so that every question ends as `cancel`. */
export function createPersonAsk({ ask, err }: Pick<CommandContext, "ask" | "err">): AskPerson | undefined {
  if (ask === undefined) return undefined;
  return (request) => enqueueQuestion(ask, () => new QuestionDialog(request, ask, err).getAnswer());
}

class QuestionDialog {
  readonly #request: AskRequest;
  readonly #ask: Ask;
  readonly #screen: Screen;

  constructor(request: AskRequest, ask: Ask, screen: Screen) {
    this.#request = request;
    this.#ask = ask;
    this.#screen = screen;
  }

  async getAnswer(): Promise<QuestionAnswer> {
    const { asker, toolName, message, url, schema, signal } = this.#request;
    signal.throwIfAborted();
    const from = asker === toolName ? safeName(toolName) : `${safeName(asker)}, in a call of ${safeName(toolName)}`;
    this.#print(this.#screen.paint("yellow", `\n  ? ${from} asks: ${safeText(message)}`));
    if (url !== undefined) return await this.#askYesOrNo(`    It wants you to open ${safeText(url)}\n  Did you? [y]es, [n]o: `);
    const fields = fieldsOf(schema);
    if (fields.length === 0) return await this.#askYesOrNo("  [y]es, [n]o: ");
    if (fields.length > MAX_FIELDS) return { action: "cancel" };
    const first = await this.#askYesOrNo(`  Fill in ${fields.length === 1 ? "one field" : `${fields.length} fields`}? [y]es, [n]o: `);
    return first.action === "accept" ? { action: "accept", content: await this.#askFields(fields) } : first;
  }

  async #askYesOrNo(question: string): Promise<QuestionAnswer> {
    for (;;) {
      const text = ((await this.#ask(question, this.#request.signal)) ?? "").trim().toLowerCase();
      if (text === "y" || text === "yes") return { action: "accept" };
      if (text === "n" || text === "no" || text === "") return { action: "decline" };
      this.#print("  Type y or n.");
    }
  }

  async #askFields(fields: readonly Field[]): Promise<JsonObject> {
    const content: Record<string, JsonValue> = {};
    for (const field of fields) {
      const value = await this.#askField(field);
      if (value !== undefined) Object.defineProperty(content, field.name, { value, enumerable: true });
    }
    return content;
  }

  async #askField(field: Field): Promise<JsonValue | undefined> {
    for (;;) {
      const text = ((await this.#ask(`    ${labelOf(field)}: `, this.#request.signal)) ?? "").trim();
      if (text === "" && field.fallback !== undefined) return field.fallback;
      if (text === "" && !field.required) return undefined;
      const value = text === "" ? undefined : readValue(field, text);
      if (value !== undefined) return value;
      this.#print(`    ${text === "" ? "It is needed." : `That is not ${kindOf(field)}.`}`);
    }
  }

  #print(text: string): void {
    this.#screen.print(text);
  }
}

interface Field {
  readonly name: string;
  readonly title: string;
  readonly type: string;
  readonly required: boolean;
  readonly choices: readonly string[] | undefined;
  readonly fallback: JsonValue | undefined;
}

/** Returns the top-level properties of a form. The rest of the third-party schema is validated where the answer is used. */
function fieldsOf(schema: AskRequest["schema"]): readonly Field[] {
  const properties = isJsonObject(schema) && isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required = isJsonObject(schema) && Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(properties).map(([name, property]) => {
    const field = isJsonObject(property) ? property : {};
    const items = isJsonObject(field["items"]) ? field["items"] : field;
    return {
      name,
      title: [field["title"], field["description"]].filter((text) => typeof text === "string").join(": ") || name,
      type: typeof field["type"] === "string" ? field["type"] : "string",
      required: required.includes(name),
      choices: choicesOf(items),
      fallback: field["default"],
    };
  });
}

function choicesOf(field: JsonObject): readonly string[] | undefined {
  const titled = field["oneOf"] ?? field["anyOf"];
  const values = Array.isArray(titled) ? titled.map((item) => (isJsonObject(item) ? item["const"] : undefined)) : field["enum"];
  return Array.isArray(values) ? values.filter((value) => typeof value === "string") : undefined;
}

function labelOf(field: Field): string {
  const notes = [kindOf(field), ...(field.fallback === undefined ? [] : [`Enter for ${JSON.stringify(field.fallback)}`])];
  if (field.fallback === undefined && !field.required) notes.push("may be left empty");
  return safeText(`${field.title} (${notes.join("; ")})`);
}

function kindOf({ type, choices }: Field): string {
  if (choices !== undefined) return `${type === "array" ? "some" : "one"} of ${choices.join(", ")}`;
  if (type === "boolean") return "yes or no";
  return type === "integer" ? "an integer" : type === "number" ? "a number" : "a string";
}

/** Parses the text of a field; undefined if it is not a valid value. */
function readValue({ type, choices }: Field, text: string): JsonValue | undefined {
  if (type === "array") {
    const items = text.split(",").map((item) => item.trim());
    return items.every((item) => choices?.includes(item) ?? true) ? items : undefined;
  }
  if (choices !== undefined) return choices.includes(text) ? text : undefined;
  if (type === "boolean") return /^(?:y|yes|true)$/iu.test(text) ? true : /^(?:n|no|false)$/iu.test(text) ? false : undefined;
  if (type !== "integer" && type !== "number") return text;
  const number = Number(text);
  return Number.isFinite(number) && (type === "number" || Number.isInteger(number)) ? number : undefined;
}
