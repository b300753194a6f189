import { spawn } from "node:child_process";
import { expect } from "vitest";
import { bundledProgram } from "../../bundled-program.ts";
import { testInCI } from "../../test-in-ci.ts";

const PROGRAM = bundledProgram("runtime/waits/waiting-program");
const HELD = ["the lock of an undeclared toolset", "a key", "a session's key"];
const WAITERS = ["the next call", "a batch", "a nested call", "a round"];

testInCI(
  "a process stays alive while a caller waits for anything, and exits when only abandoned handlers are left",
  async () => {
    const child = spawn(process.execPath, [PROGRAM], { stdio: ["ignore", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) child[name].setEncoding("utf8").on("data", (text: string) => (output[name] += text));
    const exitCode = await new Promise((resolve) => child.once("close", resolve));
    const forLocks = HELD.flatMap((what) =>
      ["timed out", "aborted"].flatMap((how) =>
        WAITERS.map((who) => `${who} waits for ${what}, ${how}: ${who === "a batch" ? "ok, ok" : "ok"}`),
      ),
    );
    expect({ exitCode, ...output }).toEqual({
      exitCode: 0,
      stdout: `${[
        ...forLocks,
        "a call waits for the slot of its tool: error",
        "a call waits for the slot of its toolset: ok",
        "a retry waits for the attempt before it: error",
        "the next turn of a session waits for the one before it: error, ok",
        "a call without a timeout waits for its handler: ok",
        "a call waits for a hook: ok",
        "a call waits for its approval: ok",
        "a loop waits for its model until its budget is used up: budget",
        "a loop waits for its model for as long as it takes: answered",
        "a runtime waits for an engine that may take any time to open: open",
        "a call waits for a turn that its program holds: ok",
        "a runtime without callers: error",
      ].join("\n")}\n`,
      stderr: "",
    });
  },
  60_000,
);
