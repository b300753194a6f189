/** A custom engine: it lists its tools when it is opened, answers their calls, and classifies failures. */
import { ToolError, createRuntime, readOnly, resultText, type Engine, type Tool } from "haft";

const define: Tool = {
  name: "define",
  description: "Says what a word means.",
  inputSchema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
  effects: readOnly(),
};

/** A fake remote service. */
class DictionaryEngine implements Engine {
  readonly kind = "dictionary";
  readonly #entries = new Map<string, string>();

  async open(): Promise<readonly Tool[]> {
    this.#entries.set("haft", "the handle of a knife");
    return [define];
  }

  call({ input }: Parameters<Engine["call"]>[0]): string {
    const meaning = this.#entries.get(String(input["word"]));
    if (meaning !== undefined) return meaning;
    throw new ToolError("execution_failed", `The dictionary has no entry ${JSON.stringify(input["word"])}.`, {
      outcome: "failed",
      hint: `Words: ${[...this.#entries.keys()].join(", ")}.`,
    });
  }

  async close(): Promise<void> {
    this.#entries.clear();
  }
}

const runtime = createRuntime({ toolsets: [{ name: "dictionary", engine: new DictionaryEngine() }] });
await runtime.open();
const results = await runtime.execute([
  { name: "define", input: { word: "haft" } },
  { name: "dictionary::define", input: { word: "hilt" } },
]);
for (const result of results) console.log(resultText(result));
await runtime.close();

/* Prints:
the handle of a knife
Error (execution_failed): The dictionary has no entry "hilt".
Hint: Words: haft.
*/
