import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import type { Engine } from "../../src/core/engine.ts";
import { isJsonObject } from "../../src/core/base/json.ts";
import { mcpEngine } from "../../src/engine/mcp.ts";
import { withUpperCaseNames } from "../../src/processes/server-process.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { bundledProgram } from "../bundled-program.ts";
import { engineContext, request, toolContext } from "../engine/engine-contexts.ts";
import { gone, openStrange, rejection, strangeServerEngine } from "../engine/mcp-engine.ts";
import { IN_CI, inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

/** A zombie that is not reaped counts as gone. */
const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/mu.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

const pidOf = async (engine: Engine): Promise<unknown> => {
  const answer = await engine.call(request("pid"), toolContext());
  return answer instanceof ToolOutput && isJsonObject(answer.output) ? answer.output["pid"] : undefined;
};

describe("opening", () => {
  test.each([
    ["a command that is not there", { command: "no-such-program" }, 'the command "no-such-program" was not found'],
    [
      "a command with its arguments in one string",
      { command: "no-such-program -y files", args: [] },
      'the command "no-such-program -y files" was not found; pass its arguments as a separate array: { command: "no-such-program", args: ["-y","files"] }',
    ],
    [
      "a path of a program with its arguments in one string",
      { command: `${process.execPath} --no-such-flag`, args: [] },
      `the command ${JSON.stringify(`${process.execPath} --no-such-flag`)} was not found; pass its arguments as a separate array: { command: ${JSON.stringify(process.execPath)}, args: ["--no-such-flag"] }`,
    ],
    ["a path with a space", { command: "/opt/no such/program", args: [] }, 'the command "/opt/no such/program" was not found'],
    [
      "a file that is no program",
      { command: fileURLToPath(import.meta.url) },
      `the command ${JSON.stringify(fileURLToPath(import.meta.url))} may not be executed`,
    ],
    ["a folder that is not there", { cwd: "/no/such/folder" }, 'its folder "/no/such/folder" does not exist'],
  ])("B16 %s is reported as a clear error and not as an uncaught exception", async (_what, options, reason) => {
    expect(await rejection(openStrange("good", options))).toEqual({
      code: "unavailable",
      message: `MCP server "strange" could not be opened: ${reason}.`,
      retryable: false,
      outcome: "not_started",
    });
  });

  test("D09 D04 the output of a server that exits on start is quoted, without escape codes and without its secrets", async () => {
    expect(await rejection(openStrange("exit-on-start", { env: { DOOR_KEY: "swordfish" } }))).toEqual({
      code: "unavailable",
      message: 'MCP server "strange" could not be opened: it exited with code 3.',
      details: ["cannot open the door with [DOOR_KEY]"],
      retryable: false,
      outcome: "not_started",
    });
  });

  test("D04 a refusal is quoted without escape codes", async () => {
    expect(await rejection(openStrange("refuses"))).toMatchObject({
      message: 'MCP server "strange" could not be opened: closed on Sundays.',
    });
  });

  test("a server that dies between initialization and the list of tools is reported", async () => {
    expect(await rejection(openStrange("exit-before-list"))).toMatchObject({
      code: "unavailable",
      message: 'MCP server "strange" did not list its tools: it exited with code 9.',
    });
  });

  test("D08 a silent server is closed when opening is aborted", async () => {
    const controller = new AbortController();
    const engine = strangeServerEngine("silent");

    const opening = rejection(engine.open?.(engineContext({ signal: controller.signal })));
    controller.abort();

    expect(await opening).toMatchObject({
      code: "unavailable",
      message: 'MCP server "strange" could not be opened: it did not answer in time.',
    });
  });

  test("a server that exits on the probe of the newer protocol is opened with the older one", async () => {
    const { tools } = await openStrange("exit-on-probe");

    expect(tools).not.toEqual([]);
  });
});

describe("framing", () => {
  test.each(["banner", "stderr-flood"])("D06 a %s does not affect a server", async (behaviour) => {
    const { engine } = await openStrange(behaviour);

    expect(await engine.call(request("echo", { still: "here" }), toolContext())).toEqual(
      new ToolOutput({ content: [{ type: "text", text: '{"still":"here"}' }] }),
    );
  });

  test.each([
    ["long-line", "it sent a line of more than 33554432 bytes"],
    ["deep", "it sent a message that nests deeper than 256 levels"],
  ])("D06 a %s closes that server", async (behaviour, reason) => {
    expect(await rejection(openStrange(behaviour))).toMatchObject({
      code: "unavailable",
      message: `MCP server "strange" could not be opened: ${reason}.`,
    });
  });

  test("a tool with too deep a schema is left out, and the server's other tools work", async () => {
    const runtime = createRuntime({
      toolsets: [{ name: "strange", engine: strangeServerEngine("abyss") }],
      ports: { log: new MemoryLog() },
    });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();

    const [abyss, echo] = await runtime.execute([{ name: "strange::abyss" }, { name: "strange::echo", input: { still: "here" } }]);
    expect([abyss?.error?.code, echo?.status]).toEqual(["unavailable", "ok"]);
    expect(abyss?.error?.message).toContain("nests-deeper-than-250-levels");
  });

  testInCI("a tool with more text than any model accepts is left out, and the server's other tools work", async () => {
    const { tools, log } = await openStrange("long-list");

    expect(tools.map(({ name }) => name)).toEqual(["echo"]);
    expect(log.lines.map(({ message }) => message)).toEqual([
      'MCP server "strange" lists "novel" with a description of more than 1048576 characters. It is left out.',
    ]);
  });

  const tooLarge: readonly (readonly [name: string, problem: string])[] = [
    ["deep-answer", "it sent a message that nests deeper than 256 levels"],
    ["many-values", "it sent a message of more than 500000 values"],
    ["long-answer", "it sent a line of more than 33554432 bytes"],
    ["long-answer-with-id-last", "it sent a line of more than 33554432 bytes"],
  ];
  test.each(tooLarge.slice(0, inCI ? 4 : 2))("a %s fails its call and does not close its server", async (name, problem) => {
    const { engine } = await openStrange();
    const born = await pidOf(engine);

    expect(await rejection(engine.call(request(name), toolContext()))).toMatchObject({
      code: "too_large",
      message: `MCP server "strange": ${problem}`,
      outcome: "unknown",
      retryable: false,
    });
    expect(await pidOf(engine)).toBe(born);
  });

  test("D07 answers with wrong, odd or repeated ids are dropped and logged; the right one is delivered", async () => {
    const { engine, log } = await openStrange("wrong-ids");

    const answer = await engine.call(request("echo"), toolContext());
    await pidOf(engine);

    expect(answer).toEqual(new ToolOutput({ content: [{ type: "text", text: "right" }] }));
    expect(log.lines.filter((line) => line.level === "debug").length).toBeGreaterThanOrEqual(3);
  });
});

describe("environment", () => {
  test("D14 F4.15 a server gets only the few inherited variables and its own", async () => {
    process.env["HAFT_TEST_SECRET"] = "not for strangers";
    const { engine } = await openStrange("good", { env: { DOOR_PLACE: "north wall" } });

    const answer = await engine.call(request("environment"), toolContext());
    delete process.env["HAFT_TEST_SECRET"];

    const seen = answer instanceof ToolOutput && isJsonObject(answer.output) ? answer.output : {};
    expect(seen["DOOR_PLACE"]).toBe("north wall");
    expect(
      Object.keys(seen).filter((name) => !["PATH", "HOME", "USER", "LANG", "TMPDIR", "DOOR_PLACE", "HAFT_SERVER"].includes(name)),
    ).toEqual([]);
  });

  test("D15 the command and its arguments are never interpreted by a shell", async () => {
    expect(await rejection(openStrange("good", { command: `${process.execPath}; echo pwned` }))).toMatchObject({
      message: expect.stringContaining("was not found"),
    });
  });
});

describe("crashes", () => {
  test("D09 F4.27 a crash fails the current call once, with the server's name; the next call uses a new server", async () => {
    const { engine, log } = await openStrange("crash 2");
    const first = await pidOf(engine);

    const crashed = await rejection(engine.call(request("echo"), toolContext()));
    const second = await pidOf(engine);

    expect(crashed).toEqual({
      code: "network_error",
      message: 'The connection to MCP server "strange" was lost during the call: it exited with code 1.',
      retryable: true,
      outcome: "unknown",
    });
    expect(second).not.toBe(first);
    expect(log.lines.filter((line) => line.level === "warn").map((line) => line.message)).toEqual([
      'MCP server "strange" is started again (1 of 3): it exited with code 1.',
    ]);
  });

  testInCI("D09 after three restarts in a row the server is not restarted again", async () => {
    const { engine } = await openStrange("crash 1");

    const errors: unknown[] = [];
    for (let call = 1; call <= 5; call++) errors.push(await rejection(engine.call(request("echo"), toolContext())));

    const lost = expect.objectContaining({ code: "network_error", outcome: "unknown" });
    expect(errors).toEqual([
      lost,
      lost,
      lost,
      lost,
      {
        code: "unavailable",
        message: 'MCP server "strange" ended again after 3 restarts: it exited with code 1.',
        operatorHint: "Find out why it ends. It is left alone for a minute; a call after that starts it once more.",
        retryable: false,
        outcome: "not_started",
      },
    ]);
  });

  test("D02 D09 a tool whose definition changed in a restart is not called before the tools are listed again", async () => {
    const { engine } = await openStrange("reborn");
    const [, hangUp] = [await engine.call(request("pid"), toolContext()), await rejection(engine.call(request("hang-up"), toolContext()))];

    const errors = await Promise.all([1, 2].map(() => rejection(engine.call(request("pid"), toolContext()))));
    await engine.list?.(new AbortController().signal);

    const changed = {
      code: "definition_changed",
      message: 'MCP server "strange" has changed the definition of the tool "pid"; the call was not sent.',
      hint: "The tools are listed again: look at its definition, then call again.",
      retryable: false,
      outcome: "not_started",
    };
    expect([hangUp, errors]).toEqual([expect.objectContaining({ code: "network_error" }), [changed, changed]]);
    expect(await engine.call(request("pid"), toolContext())).toBeInstanceOf(ToolOutput);
  });

  test("D09 a call cancelled beforehand neither restarts the server nor causes an unhandled rejection", async () => {
    const { engine, log } = await openStrange("crash 1");
    await rejection(engine.call(request("echo"), toolContext()));

    const error = await rejection(engine.call(request("echo"), toolContext({ signal: AbortSignal.abort() })));

    expect(error).toMatchObject({ code: "cancelled", outcome: "not_started" });
    expect(log.lines.filter((line) => line.level === "warn")).toEqual([]);
  });

  testInCI("simultaneous calls to a dead server share one restart", async () => {
    const { engine, log } = await openStrange("crash 1");
    await rejection(engine.call(request("echo"), toolContext()));

    const together = await Promise.all([1, 2, 3].map(() => rejection(engine.call(request("hang"), toolContext()))));

    expect(together.map((error) => isJsonObject(error) && error["code"])).toEqual(["network_error", "network_error", "network_error"]);
    expect(log.lines.filter((line) => line.level === "warn")).toHaveLength(1);
  });

  testInCI("a server that closes its output but keeps running is closed", async () => {
    const { engine } = await openStrange();

    expect(await rejection(engine.call(request("hang-up"), toolContext()))).toMatchObject({
      code: "network_error",
      message: 'The connection to MCP server "strange" was lost during the call: it closed its output.',
    });
  });

  test("the last answer of an exiting server is not lost", async () => {
    const { engine } = await openStrange();

    expect(await engine.call(request("last-words"), toolContext())).toEqual(
      new ToolOutput({ content: [{ type: "text", text: "goodbye" }] }),
    );
  });
});

describe("ending", () => {
  testInCI("D10 F4.34 close ends the server and a helper that ignores signals", async () => {
    const { engine } = await openStrange("tree");
    const answer = await engine.call(request("tree"), toolContext());
    const { server, grandchild } = processesOf(answer instanceof ToolOutput ? answer.output : undefined);

    await engine.close?.();

    await gone(server);
    await gone(grandchild);
  });

  testInCI("D10 closing the runtime while an unresponsive server opens has ended it by the time close resolves", async () => {
    const stubborn = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.stderr.write('ready');";
    const folder = mkdtempSync(join(tmpdir(), "haft-stubborn-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "pid");
    const script = `${stubborn} require("node:fs").writeFileSync(${JSON.stringify(file)}, String(process.pid));`;
    const runtime = createRuntime({
      toolsets: [{ name: "stubborn", engine: mcpEngine({ command: process.execPath, args: ["-e", script] }) }],
      ports: { log: new MemoryLog() },
    });
    const opening = runtime.open();
    await vi.waitFor(() => expect(readFileSync(file, "utf8")).not.toBe(""), { timeout: 10_000 });

    await runtime.close();

    expect(isRunning(Number(readFileSync(file, "utf8")))).toBe(false);
    await opening;
  });

  test("close fails calls in progress at once, and may be called twice", async () => {
    const { engine } = await openStrange();
    const hanging = rejection(engine.call(request("hang"), toolContext()));

    await Promise.all([engine.close?.(), engine.close?.()]);

    expect(await hanging).toMatchObject({
      code: "network_error",
      message: 'The connection to MCP server "strange" was lost during the call: it was closed.',
    });
  });

  test.skipIf(!inCI).each(["SIGKILL", "SIGTERM", "exit"] as const)(
    `D10 no process remains when the runtime ends by %s ${IN_CI}`,
    async (end) => {
      const server = fileURLToPath(new URL("../fixtures/strange-server.mjs", import.meta.url));
      const host = spawn(process.execPath, [bundledProgram("fixtures/mcp-host"), server, end], { stdio: ["ignore", "pipe", "inherit"] });
      const said = await new Promise<string>((resolve) => host.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString())));
      const started = processesOf(JSON.parse(said));

      if (end !== "exit") host.kill(end);

      await gone(started.server);
      await gone(started.grandchild);
    },
  );
});

function processesOf(answer: unknown): { readonly server: number; readonly grandchild: number } {
  if (!isJsonObject(answer) || typeof answer["server"] !== "number" || typeof answer["grandchild"] !== "number") {
    throw new Error("the server did not say its processes");
  }
  return { server: answer["server"], grandchild: answer["grandchild"] };
}

test("Windows variables are found by upper-case names, as a worker thread has them", () => {
  expect(withUpperCaseNames({ Path: "C:\\bin", SystemRoot: "C:\\Windows", TEMP: undefined })).toEqual({
    PATH: "C:\\bin",
    SYSTEMROOT: "C:\\Windows",
    TEMP: undefined,
  });
});
