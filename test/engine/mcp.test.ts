import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import { ToolError } from "../../src/core/error.ts";
import { mcpEngine } from "../../src/engine/mcp.ts";
import { engineContext, request, toolContext } from "./engine-contexts.ts";
import { openReference, openStrange, rejection, strangeServerEngine } from "./mcp-engine.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

describe("options", () => {
  test.each([
    [{ command: "" }, 'An MCP server needs a command, the program that runs it, such as "npx", a url, or in code a transport.'],
    [
      { command: ["npx", "-y", "server"] as unknown as string },
      'The command of an MCP server must be one string, the program that runs it, with its arguments in a separate array: { command: "npx", args: ["-y", "server"] }.',
    ],
    [{ command: "node", args: ["a\0b"] }, 'The arguments, variables and folder of the MCP server "node" must be strings without NUL.'],
    [{ command: "node", maxTools: 0 }, "maxTools is 0; it takes an integer from 1."],
  ])("%j throws before anything starts", (options, message) => {
    expect(() => mcpEngine(options)).toThrow(new ToolError("invalid_argument", message));
  });
});

describe("real servers", () => {
  test("F4.33 the filesystem server's tools have schemas and return structured answers", async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-mcp-")));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "note.txt"), "hello");

    const { engine, tools } = await openReference("filesystem", { args: [folder] });
    const answer = await engine.call(request("read_text_file", { path: join(folder, "note.txt") }), toolContext());

    expect(tools).toHaveLength(14);
    expect(tools.find((tool) => tool.name === "write_file")).toMatchObject({
      title: "Write File",
      inputSchema: { type: "object", required: ["path", "content"] },
      outputSchema: { type: "object" },
      effects: { destructive: true },
      metadata: { server: { transport: "stdio", name: "secure-filesystem-server" }, annotations: { readOnlyHint: false } },
    });
    expect(tools.find((tool) => tool.name === "read_text_file")?.effects).toBeUndefined();
    expect(answer).toEqual(new ToolOutput({ output: { content: "hello" }, content: [{ type: "text", text: "hello" }] }));
  });

  test("F0.48 F1.71 a tool that reports isError is execution_failed with its text", async () => {
    const { engine } = await openReference("filesystem", { args: [tmpdir()] });

    const error = await rejection(engine.call(request("read_text_file", { path: "/etc/passwd" }), toolContext()));

    expect(error).toMatchObject({ code: "execution_failed", outcome: "failed", message: expect.stringContaining("Access denied") });
  });

  testInCI("the everything server lists its tools, and answers calls in parallel", async () => {
    const { engine, tools } = await openReference("everything");

    const sums = await Promise.all([1, 2, 3].map((a) => engine.call(request("get-sum", { a, b: 1 }), toolContext())));

    expect(tools.map((tool) => tool.name)).toContain("get-sum");
    expect(sums).toEqual(
      [2, 3, 4].map((sum) => new ToolOutput({ content: [{ type: "text", text: `The sum of ${sum - 1} and 1 is ${sum}.` }] })),
    );
  });

  testInCI("the everything server's progress is passed on", async () => {
    const { engine } = await openReference("everything");
    const updates: unknown[] = [];

    await engine.call(
      request("trigger-long-running-operation", { duration: 0.02, steps: 2 }),
      toolContext({ progress: (update) => updates.push(update) }),
    );

    expect(updates).toEqual([
      { done: 1, total: 2 },
      { done: 2, total: 2 },
    ]);
  });
});

describe("answers", () => {
  test("F0.48 isError without text has a default message", async () => {
    const { engine } = await openStrange();

    expect(await rejection(engine.call(request("silent-error"), toolContext()))).toEqual({
      code: "execution_failed",
      message: "Tool reported isError=true",
      retryable: false,
      outcome: "failed",
    });
  });

  test("F0.48 isError joins the text of its content parts", async () => {
    const { engine } = await openStrange();

    expect(await rejection(engine.call(request("error"), toolContext()))).toMatchObject({
      code: "execution_failed",
      message: "no such\nfile",
    });
  });

  test.each([
    ["protocol-error", { code: "execution_failed", message: 'MCP server "strange": it broke', retryable: false, outcome: "unknown" }],
    ["bad-arguments", { code: "invalid_input", message: 'MCP server "strange": path is missing', retryable: false, outcome: "failed" }],
  ])("F4.27 the error of a %s answer names the server", async (name, expected) => {
    const { engine } = await openStrange();

    expect(await rejection(engine.call(request(name), toolContext()))).toEqual(expected);
  });

  test("D17 every kind of content part is retained, and its links are not fetched", async () => {
    const { engine } = await openStrange();

    expect(await engine.call(request("parts"), toolContext())).toEqual(
      new ToolOutput({
        content: [
          { type: "text", text: "see" },
          { type: "image", mediaType: "image/png", data: "aW1n" },
          { type: "audio", mediaType: "audio/wav", data: "c25k" },
          { type: "file", uri: "file:///etc/passwd", mediaType: "text/plain", name: "passwd" },
          { type: "file", uri: "memo://4", name: "terms.pdf", title: "Terms", description: "The terms of 2026.", bytes: 12 },
          { type: "file", uri: "memo://1", mediaType: "text/plain", text: "remember" },
          { type: "file", uri: "data:application/zip;base64,UEs=", mediaType: "application/zip", name: "memo://2" },
          { type: "image", mediaType: "image/gif", data: "R0lG" },
          { type: "text", text: '{"type":"hologram","beams":3}' },
        ],
      }),
    );
  });

  test("D16 structured content becomes the output, beside content and metadata", async () => {
    const { engine } = await openStrange();

    expect(await engine.call(request("structured"), toolContext())).toEqual(
      new ToolOutput({ output: { sum: 3 }, content: [{ type: "text", text: '{"sum":3}' }], metadata: { took: 1 } }),
    );
  });

  test("progress is passed on with its message", async () => {
    const { engine } = await openStrange();
    const updates: unknown[] = [];

    await engine.call(request("progress"), toolContext({ progress: (update) => updates.push(update) }));

    expect(updates).toEqual([1, 2, 3].map((done) => ({ done, total: 3, message: `step ${done}` })));
  });

  test("D08 an aborted call ends at once although the server never answers, and the connection stays open", async () => {
    const { engine } = await openStrange();
    const controller = new AbortController();

    const hanging = rejection(engine.call(request("hang"), toolContext({ signal: controller.signal })));
    controller.abort(new Error("time is up"));

    expect(await hanging).toEqual({
      code: "cancelled",
      message: 'The call was cancelled; MCP server "strange" was notified.',
      retryable: false,
      outcome: "unknown",
    });
    expect(await engine.call(request("echo", { a: 1 }), toolContext())).toEqual(
      new ToolOutput({ content: [{ type: "text", text: '{"a":1}' }] }),
    );
  });

  test("a call to an engine that is not open is unavailable", async () => {
    const { engine } = await openStrange();
    await engine.close?.();

    expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({
      code: "unavailable",
      message: 'MCP server "strange" is not open.',
    });
  });
});

describe("trust", () => {
  test("F0.18 hints of an untrusted server only add caution, and its invalid tools are left out with a warning", async () => {
    const { tools, log } = await openStrange("odd");

    expect(tools).toEqual([
      { name: "schemaless", description: "", inputSchema: undefined, metadata: strangeMetadata({}) },
      { name: "fine", title: "Fine", description: "\u001b[8mhidden", inputSchema: { type: "object" }, metadata: strangeMetadata({}) },
      {
        name: "reader",
        description: "",
        inputSchema: { type: "object" },
        metadata: strangeMetadata({ readOnlyHint: true, idempotentHint: true }),
      },
      {
        name: "remover",
        description: "",
        inputSchema: { type: "object" },
        effects: { destructive: true, external: true },
        metadata: strangeMetadata({ destructiveHint: true, openWorldHint: true }),
      },
    ]);
    expect(log.lines.filter((line) => line.level === "warn").map((line) => line.message)).toEqual([
      'MCP server "strange" lists a tool that is not an object. It is left out.',
      'MCP server "strange" lists a tool without a usable name: A tool needs a name: a string that is not empty. It is left out.',
      'MCP server "strange" lists a tool without a usable name: The tool name "bell\\u0007" has a control character or half a surrogate pair. It is left out.',
    ]);
  });

  test("a trusted server may declare a tool as read-only", async () => {
    const { tools } = await openStrange("odd", { trustAnnotations: true });

    expect(tools.find((tool) => tool.name === "reader")?.effects).toEqual({ writes: [], idempotent: true });
  });
});

describe("listing", () => {
  test("F0.18 list_changed of a server of the older era is passed on, and the tools are listed again", async () => {
    const changed = vi.fn<() => void>();
    const engine = strangeServerEngine("changing");
    const before = await engine.open?.(engineContext({ changed }));

    await engine.call(request("change"), toolContext());
    const after = await engine.list?.(new AbortController().signal);

    expect(changed).toHaveBeenCalledTimes(1);
    expect([before, after].map((tools) => tools?.map((tool) => tool.name))).toEqual([["change"], ["change", "new"]]);
  });

  test("F0.18 all pages of the tool list are read", async () => {
    const { tools } = await openStrange("paged");

    expect(tools.map((tool) => tool.name)).toEqual(["tool-0", "tool-1", "tool-2"]);
  });

  const endless = ["endless", "its list of tools has more than 10000 pages"] as const;
  test.each([
    ["circle", "its list of tools runs in a circle: the same cursor came twice"],
    ["many", "it lists more than 100000 tools"],
    ...(inCI ? [endless] : []),
    ["listless", "it answered tools/list without an array of tools"],
  ] as const)("D05 opening fails for a server whose tool list is invalid: %s", async (behaviour, reason) => {
    expect(await rejection(openStrange(behaviour))).toEqual({
      code: "unavailable",
      message: `MCP server "strange" could not be opened: ${reason}.`,
      retryable: false,
      outcome: "not_started",
    });
  });
});

function strangeMetadata(annotations: object): object {
  return { server: { transport: "stdio", name: "strange", version: "1.2.3", protocolVersion: expect.any(String) as string }, annotations };
}
