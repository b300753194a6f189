import { describe, expect, test } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import { parseRecording, writeRecording } from "../../src/core/recording/recording.ts";
import { resultText, type ToolResult } from "../../src/core/result.ts";
import { toolsetsOfRecording } from "../../src/engine/replay.ts";
import { withProgramShape } from "../../src/registry/program-shape.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

describe("F1.3 a tool that runs a program", () => {
  const log = "2 files checked\nmain.c:4: unused variable";
  const answers: readonly (readonly [what: string, answer: unknown])[] = [
    ["with ToolOutput", new ToolOutput({ output: log, exitCode: 2, metadata: { took: 4 } })],
    ["with a plain object", { output: log, exitCode: 2, metadata: { took: 4 } }],
    ["as the seed writes it", { output: log, exit_code: 2, error: null, metadata: { took: 4 } }],
  ];

  test.each(answers)("F1.3 exit code 2 without an error is an error, and the output is kept: %s", async (_what, answer) => {
    const { runtime } = testRuntime({ tools: [withProgramShape(tool("lint", () => answer))] });
    const result = await runtime.execute({ name: "lint" });
    expect(result).toMatchObject({ status: "error", output: log, exitCode: 2, metadata: { took: 4 }, attempts: 1 });
    expect(result.error).toMatchObject({ code: "execution_failed", message: "default::lint ended with exit code 2." });
    expect(resultText(result)).toBe(`Error (execution_failed): default::lint ended with exit code 2.\n${log}`);
  });

  test("F1.3 exit code 0 is ok, unless there is an error, whose message is reported", async () => {
    const { runtime } = testRuntime({
      tools: [
        withProgramShape(tool("good", () => ({ output: "done", exit_code: 0 }))),
        withProgramShape(tool("odd", async () => ({ output: "half", exit_code: 0, error: "the disk is full" }))),
        withProgramShape(tool("bad", () => ({ output: "", exit_code: -1, error: "killed by a signal" }))),
      ],
    });
    const results = await runtime.execute(["good", "odd", "bad"].map((name) => ({ name })));
    expect(results.map(({ status, output, exitCode, error }) => [status, output, exitCode, error?.message])).toEqual([
      ["ok", "done", 0, undefined],
      ["error", "half", 0, "the disk is full"],
      ["error", "", -1, "killed by a signal"],
    ]);
  });

  test("F1.3 without withProgramShape such an object is plain data, and with it any object without output", async () => {
    const own = { output: "x", exit_code: 1 };
    const { runtime } = testRuntime({
      tools: [
        tool("plain", () => own),
        withProgramShape(tool("shaped", () => ({ exitCode: 1 }))),
        tool("wrong", () => new ToolOutput({ output: "x", exitCode: Number.NaN })),
      ],
    });
    const results = await runtime.execute(["plain", "shaped", "wrong"].map((name) => ({ name })));
    expect(results.map(({ status, output, exitCode }) => [status, output, exitCode])).toEqual([
      ["ok", own, undefined],
      ["ok", { exitCode: 1 }, undefined],
      ["partial", "x", undefined],
    ]);
    expect(results.at(-1)?.error?.code).toBe("invalid_output");
    expect(() => withProgramShape({ name: "bare", description: "", inputSchema: {} })).toThrow("has no execute");
  });

  test("F1.3 withProgramShape keeps fields and methods that a tool inherits from its class", async () => {
    class Program {
      readonly name: string = "run";
      readonly description = "Runs.";
      readonly inputSchema = { type: "object" };
      readonly codes = [0, 4];
      execute(): unknown {
        return { output: "ran", exit_code: this.codes.shift() };
      }
    }
    class Named extends Program {
      override readonly name = "walk";
    }
    const { runtime } = testRuntime({ tools: [withProgramShape(new Named())] });
    const results = await runtime.execute([{ name: "walk" }, { name: "walk" }]);
    expect(results.map(({ status, output, exitCode }) => [status, output, exitCode])).toEqual([
      ["ok", "ran", 0],
      ["error", "ran", 4],
    ]);
  });

  test("F1.3 an exit code that is not an integer is not ok, null means none, and an error next to it gives the message", async () => {
    const answers = [
      { output: "a", exit_code: "3" },
      { output: "b", exitCode: 1.5 },
      { output: "c", exit_code: true, error: "no disk" },
      { output: "d", exit_code: null },
      { output: "e", exitCode: null, exit_code: 0 },
    ];
    const { runtime } = testRuntime({ tools: [withProgramShape(tool("make", ({ nth }) => answers[Number(nth)]))] });
    const results = await runtime.execute(answers.map((_answer, nth) => ({ name: "make", input: { nth } })));
    expect(results.map(({ status, output, exitCode, error }) => [status, output, exitCode, error?.code, error?.message])).toEqual([
      ["partial", "a", undefined, "invalid_output", expect.stringContaining("not an integer")],
      ["partial", "b", undefined, "invalid_output", expect.stringContaining("not an integer")],
      ["error", "c", undefined, "execution_failed", "no disk"],
      ["ok", "d", undefined, undefined, undefined],
      ["ok", "e", 0, undefined, undefined],
    ]);
  });

  test("F1.3 images of a failed program are kept, it is not retried, hooks see its answer, and it is recorded whole", async () => {
    const content = [
      { type: "text", text: "page 1 of 2" },
      { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
    ] as const;
    const seen: unknown[] = [];
    const { runtime } = testRuntime({
      hooks: [{ name: "watch", afterCall: (result) => (seen.push(result.exitCode), { ...result, warnings: ["seen"] }) }],
      tools: [tool("print", () => new ToolOutput({ content, exitCode: 1 }))],
    });
    const session = runtime.session();
    const result = await session.execute({ name: "print" });
    expect(result).toMatchObject({ status: "error", exitCode: 1, content, warnings: ["seen"], attempts: 1 });
    expect(seen).toEqual([1]);
    const lines: string[] = [];
    for await (const line of writeRecording(session.log, { sessionId: session.id, exportedAt: 0 })) lines.push(line);
    const { events } = parseRecording(lines.join(""));
    const ended = events.find((event) => event.type === "call-end");
    expect(ended?.type === "call-end" ? ended.result : undefined).toEqual(result);
    const replayed = testRuntime({ toolsets: toolsetsOfRecording(events) }).runtime;
    expect(await replayed.execute({ name: "print" })).toMatchObject({ status: "error", exitCode: 1, content, error: result.error });
  });

  test("F1.3 a hook that turns an answer into an error removes the answer, and one that turns a failure into ok drops the exit code", async () => {
    const hooks = [
      {
        name: "turn",
        afterCall: (result: ToolResult) => ({
          ...result,
          status: result.status === "ok" ? "error" : "ok",
          error: { code: "execution_failed", message: "turned" },
        }),
      },
    ] as const;
    const { runtime } = testRuntime({
      hooks: hooks as never,
      tools: [tool("good", () => "secret"), tool("bad", () => new ToolOutput({ output: "half", exitCode: 1 }))],
    });
    const results = await runtime.execute([{ name: "good" }, { name: "bad" }]);
    expect(results.map(({ status, output, exitCode }) => [status, output, exitCode])).toEqual([
      ["error", undefined, undefined],
      ["ok", "half", undefined],
    ]);
  });

  test("F1.3 a cached answer has its exit code, and a failed one is not cached", async () => {
    let ran = 0;
    const run = (exitCode: number) => () => new ToolOutput({ output: ++ran, exitCode });
    const { runtime } = testRuntime({
      tools: [tool("good", run(0), { cache: "session" }), tool("bad", run(1), { cache: "session" })],
    });
    const session = runtime.session();
    const results = [];
    for (const name of ["good", "good", "bad", "bad"]) results.push(await session.execute({ name }));
    expect(results.map(({ origin, output, exitCode }) => [origin, output, exitCode])).toEqual([
      ["live", 1, 0],
      ["cache", 1, 0],
      ["live", 2, 1],
      ["live", 3, 1],
    ]);
  });
});
