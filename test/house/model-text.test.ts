/** What a model reads of errors: no setting, flag or function of ours, nothing for operators, and tools under the names that it was given. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ERROR_CODES, type ErrorCode } from "../../src/core/error-codes.ts";
import { ToolError } from "../../src/core/error.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { textToolsModel } from "../../src/model/text-model.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { toCallAnswer } from "../../src/server/mcp/call-result.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";
import { WIRE_FORMATS } from "./wire-formats.ts";

const CODES = Object.keys(ERROR_CODES) as ErrorCode[]; // its keys are the codes
const SRC = join(import.meta.dirname, "../../src");
const CALL = { name: "todo::remove", input: {}, id: "c1" };

const FORMATS = Object.values(WIRE_FORMATS).map((make) => make());

/** Every text in which a model or a client reads a result. */
async function shown(result: ToolResult): Promise<readonly (readonly [where: string, text: string])[]> {
  const messages: readonly ModelMessage[] = [
    { role: "user", content: "Tidy up.", at: 1 },
    { role: "call", callId: result.callId, turnId: "t", call: CALL, at: 2 },
    { role: "result", callId: result.callId, result, at: 3 },
  ];
  const model = scriptedModel([{ text: "done" }]);
  const events = textToolsModel(model, { format: "hermes" }).stream({ messages })[Symbol.asyncIterator]();
  while ((await events.next()).done !== true);
  return [
    ...FORMATS.flatMap((format): [string, string][] => [
      [format.name, JSON.stringify(format.encodeMessages(messages))],
      [`${format.name} results`, JSON.stringify(format.encodeResults([{ id: "c1", name: result.name, result }]))],
    ]),
    ["text", JSON.stringify(model.requests[0]?.messages)],
    ["MCP", JSON.stringify(toCallAnswer(result, undefined))],
  ];
}

function failed(error: ToolError): ToolResult {
  const rest = { origin: "live", attempts: 1, durationMs: 1, repairs: [], warnings: [] } as const;
  return { callId: "call_1", id: "c1", name: CALL.name, status: "error", error: error.toJSON(), ...rest };
}

describe.each(CODES)("an error %s", (code) => {
  test("F1.50 F3.37 shows the model no operator hint, and tools under the names that the model was given", async () => {
    const error = new ToolError(code, "todo::remove failed; todo::remove_all is another, and todo::list would work.", {
      hint: "Call todo::list.",
      operatorHint: "Set FOR_OPERATORS.",
      toolNames: ["todo::list"],
    });
    for (const [where, text] of await shown(failed(error))) {
      expect([where, text.includes("FOR_OPERATORS")]).toEqual([where, false]);
      expect([
        where,
        text.includes("todo__remove failed"),
        text.includes("todo__list would work"),
        text.includes("todo::remove_all"),
      ]).toEqual([where, true, true, true]);
    }
  });
});

/** A mark of direction, a joiner, a soft hyphen, a tag character, a control character: nobody sees them. */
const INVISIBLE = ["\u202e", "\u2067", "\u200b", "\u00ad", "\u{e0041}", "\u001b", "\u0085", "\u2028"];

test.each(CODES)("F1.50 an error %s shows the model no invisible characters in any field", async (code) => {
  const hidden = INVISIBLE.join("");
  const error = new ToolError(code, `No file "a${hidden}b" ⚠️.`, { hint: `Read c${hidden}d.`, details: [`e${hidden}f`] });
  for (const [where, text] of await shown(failed(error))) {
    expect([where, INVISIBLE.filter((character) => text.includes(character))]).toEqual([where, []]);
    expect([where, text.includes("u202e"), text.includes("⚠️")]).toEqual([where, true, true]);
  }
});

/** What no model needs: ways round a gate, and words for those who write programs and files. */
const FORBIDDEN =
  /--[a-z]|approval:|createRuntime|haft\.toml|allowSideEffects|standIn|registry|allowPrivate|allowSensitive|\bnever\b.*\bapproval\b/u;

test("F1.50 no gate's message tells a model how to bypass it", async () => {
  const { runtime } = testRuntime({
    tools: [
      tool("erase", () => "gone", { effects: { reads: [], writes: ["disk"], destructive: true } }),
      tool("denied", () => "gone"),
      tool("read_first", () => "gone", { requiresReading: true }),
      tool("needs", () => "gone", { requires: ["user"] }),
      tool("once", () => "gone", { oncePerTurn: true }),
      { name: "nobody", description: "", inputSchema: {} },
      tool("broken", () => "gone", { inputSchema: { type: "nonsense" } }),
    ],
    permission: { deny: ["*::denied"] },
  });
  const names = ["erase", "denied", "read_first", "needs", "once", "once", "nobody", "broken", "nothing"];
  const session = runtime.session();
  const live = await session.execute(names.map((name) => ({ name, input: {} })));
  const { results: simulated } = await session.simulate(["erase", "once"].map((name) => ({ name, input: {} })));
  const failures = [...live, ...simulated].filter(({ error }) => error !== undefined);
  expect(failures.length).toBeGreaterThanOrEqual(9);
  for (const result of failures)
    for (const [where, text] of await shown(result))
      expect([where, result.error?.code, FORBIDDEN.exec(text)?.[0]]).toEqual([where, result.error?.code, undefined]);
});

/** Codes whose hint becomes the operator's where it is a result: mistakes in a program, its files and its store. */
const FOR_OPERATORS: ReadonlySet<string> = new Set(
  CODES.filter((code) => new ToolError(code, "x", { hint: "y" }).toJSON().hint === undefined),
);
/** A flag, a name in camel case, a command, a file or a piece of code. */
const WORDS_OF_PROGRAMS = /--[a-z]|\b[a-z]+[A-Z]\w*|\bhaft\b|\.toml\b|\bnpm\b|\bruntime\b|\bsession\.|\bcontext\.|approval:/u;
/** Rooms whose errors end no call. The tools of a folder name their own parameters. */
const NOT_IN_CALLS = /^(?:cli|generate|testing|config|store|model|server\/api)\/|^toolsets\/files\/text-edit\.ts$/u;

test("F1.50 no model hint in the source names a setting, a flag or a command", () => {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts") && !NOT_IN_CALLS.test(file));
  const found = files.flatMap((file) => hintsIn(readFileSync(join(SRC, file), "utf8")).map((hint) => `${file}: ${hint}`));
  expect(found).toEqual([]);
});

/** The texts behind `hint:` that say what they may not, those of errors for programs left out. */
function hintsIn(source: string): readonly string[] {
  const found: string[] = [];
  for (const match of source.matchAll(/\bhint: (`[^`]*`|"[^"]*"|'[^']*')/gu)) {
    const [code] = [...source.slice(0, match.index).matchAll(/(?:Error|Answer|said|super)\(\s*"(\w+)"/gu)]
      .slice(-1)
      .map(([, name]) => name);
    const text = (match[1] ?? "").replaceAll(/\$\{[^}]*\}/gu, "");
    if ((code === undefined || !FOR_OPERATORS.has(code)) && WORDS_OF_PROGRAMS.test(text)) found.push(text);
  }
  return found;
}
