import { expect, test } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import type { LoopEvent } from "../../src/compose/loop-event.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

const EVENTS = ["call-seal", "call-add", "reply-end", "round-end"] as const;

function callsIn(event: LoopEvent): readonly { readonly input?: unknown }[] {
  if (event.type === "call-seal" || event.type === "call-add") return [event.call];
  return event.type === "reply-end" || event.type === "round-end" ? (event.reply?.calls ?? []) : [];
}

test.each(EVENTS.flatMap((type) => [true, false].map((earlyDispatch) => ({ type, earlyDispatch }))))(
  "issue 18 a listener that changes the call of $type changes neither what runs nor what is recorded (early dispatch: $earlyDispatch)",
  async ({ type, earlyDispatch }) => {
    const ran: unknown[] = [];
    const read = defineTool({
      name: "read",
      description: "",
      inputSchema: { type: "object" },
      effects: pure,
      execute: (input) => ran.push(input),
    });
    const write = defineTool({ name: "write", description: "", inputSchema: { type: "object" }, execute: (input) => ran.push(input) });
    const runtime = createRuntime({ tools: [read, write], approval: { never: ["*"] } });
    const calls = ["read", "write"].map((name) => ({ name, input: { to: "good" } }));
    const session = runtime.session();
    const onEvent = (event: LoopEvent): void => {
      if (event.type === type)
        for (const { input } of callsIn(event)) if (typeof input === "object" && input !== null) Reflect.set(input, "to", "bad");
    };
    await createLoop({ model: scriptedModel([{ calls }, { text: "Done." }]), session, earlyDispatch, onEvent }).run("Go");
    expect(ran).toEqual([{ to: "good" }, { to: "good" }]);
    expect(session.log.flatMap((event) => (event.type === "call-start" ? [event.call.input] : []))).toEqual([
      { to: "good" },
      { to: "good" },
    ]);
    await runtime.close();
  },
);
