/** Reads whole messages in pieces, for tests of text formats. */
import fc from "fast-check";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { ModelEvent, ModelReply, ModelTool } from "../../../src/core/model.ts";
import type { DecodeTextOptions, TextEnding, TextFormat } from "../../../src/wire/text/text-format.ts";

export const TOOLS: readonly ModelTool[] = [
  tool("get_weather", {
    city: { type: "string" },
    days: { type: "integer" },
    tags: { type: "array" },
    deep: { type: "object" },
    sure: { type: "boolean" },
    none: { type: ["string", "null"] },
  }),
  tool("bash", { command: { type: "string" } }, ["command"]),
  tool("write", { path: { type: "string" }, content: { type: "string" } }, ["path", "content"]),
  tool("read", { path: { type: "string" } }),
  tool("files::list.all", { path: { type: "string" } }),
  tool("my-tool", {}),
];

export function tool(name: string, properties: JsonObject, required: readonly string[] = []): ModelTool {
  return { name, description: `Does ${name}.`, inputSchema: { type: "object", properties, required } };
}

export interface Reading {
  readonly reply: ModelReply;
  readonly events: readonly ModelEvent[];
  readonly warnings: readonly string[];
}

export function readPieces(
  format: TextFormat,
  pieces: readonly string[],
  options: DecodeTextOptions & { readonly ending?: TextEnding } = {},
): Reading {
  const { ending, ...rest } = options;
  const decoding = format.decodeText({ tools: TOOLS, ...rest });
  const events = [...pieces.flatMap((piece) => [...decoding.push(piece)]), ...decoding.end(ending)];
  const last = events.at(-1);
  if (last?.type !== "reply-end") throw new Error("a message ends with its reply");
  return { reply: last.reply, events, warnings: decoding.warnings };
}

/** What a reader gets of a message: calls as name and input, text, thinking. */
export function readText(
  format: TextFormat,
  text: string,
  options: DecodeTextOptions = {},
): readonly [calls: readonly unknown[], text: string, thinking: string] {
  const { reply } = readPieces(format, [text], options);
  return [reply.calls.map(({ name, input }) => [name, input]), reply.text, reply.reasoning];
}

/** A text in pieces, cut anywhere. */
export function cut(text: string): fc.Arbitrary<readonly string[]> {
  return fc
    .array(fc.nat({ max: text.length }), { maxLength: 12 })
    .map((places) => [0, ...places.sort((a, b) => a - b), text.length])
    .map((places) => places.slice(1).map((place, index) => text.slice(places[index], place)));
}
