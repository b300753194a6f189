/** How long a process lives whose agent has triggers: as real processes, on the real clock. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { BUNDLE } from "../bundled-program.ts";

const run = promisify(execFile);

function program(trigger: string, rest: string): Promise<{ readonly stdout: string }> {
  const text = `
    import { createAgent, createRuntime } from "haft";
    import { scriptedModel } from "haft/model";
    import { createTriggers } from "haft/triggers";
    const triggers = createTriggers();
    triggers.channels.open("news");
    const session = createRuntime({}).session("s");
    const onResult = () => { console.log("woken"); ${rest} };
    const agent = createAgent({ session, triggers, model: scriptedModel([{ text: "a" }, { text: "b" }]), onResult });
    agent.start();
    await triggers.of(session).add(${trigger});
    process.on("exit", () => console.log("over"));`;
  return run(process.execPath, ["--input-type=module", "--eval", text], { cwd: BUNDLE }); // whose package "haft" is there
}

test("a timer of a started agent keeps its process alive until the agent is stopped", async () => {
  const { stdout } = await program(
    '{ type: "timer", interval: 0.02, prompt: "x" }',
    "if (session.triggers[0].sent > 1) void agent.stop();",
  );
  expect(stdout).toBe("woken\nwoken\nover\n");
});

test("an agent with only a channel trigger does not keep its process alive", async () => {
  expect((await program('{ type: "channel", channel: "news" }', "")).stdout).toBe("over\n");
});
