/** The text of a JSON value as its tokens, in several layouts, so that each of them can be damaged by itself. */
import { type JsonValue, isJsonArray } from "../../src/core/base/json.ts";

export interface JsonToken {
  readonly kind: "open" | "close" | "comma" | "colon" | "key" | "string" | "number" | "word";
  readonly text: string;
  /** White space behind it. */
  readonly space: string;
  /** What a comma separates. */
  readonly within?: "object" | "array";
}

export interface Written {
  readonly value: JsonValue;
  readonly tokens: readonly JsonToken[];
}

/** How a value is laid out: without spaces, on one line, or indented. */
export type Layout = "compact" | "spaced" | "indented";

export function textOf(tokens: readonly JsonToken[]): string {
  return tokens
    .map(({ text, space }) => text + space)
    .join("")
    .trimEnd();
}

export function writeTokens(value: JsonValue, layout: Layout): Written {
  const tokens: JsonToken[] = [];
  write(value, { tokens, layout }, 0);
  return { value, tokens };
}

interface Writing {
  readonly tokens: JsonToken[];
  readonly layout: Layout;
}

function write(value: JsonValue, writing: Writing, depth: number): void {
  if (typeof value !== "object" || value === null) {
    const kind = typeof value === "string" ? "string" : typeof value === "number" ? "number" : "word";
    writing.tokens.push({ kind, text: JSON.stringify(value), space: "" });
    return;
  }
  const within = isJsonArray(value) ? "array" : "object";
  const entries: readonly (readonly [string | undefined, JsonValue])[] = isJsonArray(value)
    ? value.map((item) => [undefined, item])
    : Object.entries(value);
  const [open, close] = within === "array" ? ["[", "]"] : ["{", "}"];
  const line = writing.layout === "indented" && entries.length > 0 ? `\n${"  ".repeat(depth + 1)}` : "";
  writing.tokens.push({ kind: "open", text: open ?? "", space: line });
  for (const [place, [key, item]] of entries.entries()) {
    if (place > 0)
      writing.tokens.push({ kind: "comma", text: ",", within, space: line === "" && writing.layout === "spaced" ? " " : line });
    if (key !== undefined) {
      writing.tokens.push({ kind: "key", text: JSON.stringify(key), space: "" });
      writing.tokens.push({ kind: "colon", text: ":", space: writing.layout === "compact" ? "" : " " });
    }
    write(item, writing, depth + 1);
  }
  if (line !== "") {
    const last = writing.tokens.pop();
    if (last !== undefined) writing.tokens.push({ ...last, space: `\n${"  ".repeat(depth)}` });
  }
  writing.tokens.push({ kind: "close", text: close ?? "", space: "" });
}
