/** A session in which names, arguments, results and errors try to be more than text. */
import { defineTool, readOnly, ToolError } from "haft";
import type { Scene } from "./scene.ts";

const SCRIPT = '<img src=x onerror="window.harmed=1"></script><script>window.harmed=2</script><svg onload=window.harmed=3>';

export const HOSTILE = {
  id: `id ${SCRIPT}/%41?#`,
  tool: `evil::${SCRIPT}`,
  text: `${SCRIPT} javascript:window.harmed=4 url(x) \u001b[2J\u202etxt.exe\u200b {{constructor}}`,
};

/** @returns the session and its calls: one that is fine, one whose result is long, one that fails, one that waits */
export async function playHostile(runtime: Scene["runtime"]): Promise<{ readonly id: string; readonly callIds: readonly string[] }> {
  const session = runtime.session(HOSTILE.id);
  await session.addMessage({ role: "user", content: HOSTILE.text });
  const input = { [SCRIPT]: HOSTILE.text, more: HOSTILE.text };
  const results = await session.execute([
    { name: HOSTILE.tool, input, reasoning: HOSTILE.text },
    { name: "evil::long" },
    { name: "evil::fail" },
    { name: SCRIPT, input },
  ]);
  void session.execute([{ name: "evil::destroy", input: { more: HOSTILE.text } }]);
  return { id: HOSTILE.id, callIds: results.map(({ callId }) => callId) };
}

export function hostileTools(): ReturnType<typeof defineTool>[] {
  const { text } = HOSTILE;
  return [
    defineTool({
      name: SCRIPT,
      title: text,
      description: text,
      tags: [text],
      inputSchema: { type: "object", properties: { [SCRIPT]: { type: "string", description: text, default: text } } },
      effects: readOnly("nothing"),
      execute: (input: object) => ({ [SCRIPT]: text, input }),
    }),
    defineTool({
      name: "long",
      description: text,
      inputSchema: { type: "object", properties: {} },
      effects: readOnly("nothing"),
      maxResultBytes: 20_000_000,
      execute: () => ({ text: SCRIPT.repeat(100_000) }),
    }),
    defineTool({
      name: "fail",
      description: text,
      inputSchema: { type: "object", properties: {} },
      effects: readOnly("nothing"),
      execute() {
        throw new ToolError("execution_failed", text, { hint: text, details: [text] });
      },
    }),
    defineTool({
      name: "destroy",
      description: text,
      inputSchema: { type: "object", properties: {} },
      effects: { writes: [text], destructive: true },
      execute: () => text,
    }),
  ] as ReturnType<typeof defineTool>[];
}
