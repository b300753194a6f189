import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import type { VisibilityRules } from "../../src/policy/visibility.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { infoToolset } from "../../src/toolsets/info.ts";
import { testRuntime, tool, type TestRuntime } from "./bench-runtime.ts";

function world(more: Partial<Tool> = {}): TestRuntime & { readonly ran: string[] } {
  const ran: string[] = [];
  const named = (name: string): Tool => tool(name, () => void ran.push(name), more);
  const toolsets = [
    { name: "files", tools: [named("read"), named("write")] },
    { name: "journal", tools: [named("add"), named("read")] },
  ];
  return { ...testRuntime({ toolsets }), ran };
}

const HIDDEN_HINT = "Use one of the tools that are offered, or say that this one would be needed.";

describe("a hidden tool", () => {
  const cases: readonly (readonly [name: string, allow: VisibilityRules])[] = [
    ["files::write", { allow: ["journal::*"] }],
    ["files::write", { deny: ["files::*"] }],
    ["write", { allow: ["journal::*"] }],
    ["read", { allow: ["journal::add"] }],
    ["files::write", [{ allow: ["journal::*"] }, { allow: ["*"] }]],
  ];
  test.each(cases)("F3.37 %s is denied under %j, and its tool does not run", async (name, allow) => {
    const { runtime, ran } = world();
    await runtime.open();
    const result = await runtime.execute({ name, input: {} }, { allow });
    expect([result.name, result.status, result.error, ran]).toEqual([
      name,
      "error",
      {
        code: "permission_denied",
        message: `The tool "${name}" is not offered here and was not run.`,
        retryable: false,
        outcome: "not_started",
        hint: HIDDEN_HINT,
      },
      [],
    ]);
  });

  test("F3.37 is not mentioned in an error about another name", async () => {
    const { runtime } = world();
    await runtime.open();
    const allow = { allow: ["journal::*"] };
    const results = await runtime.execute(
      ["files::writ", "writ", "journal::writ", "ad", "journal::ad"].map((name) => ({ name, input: {} })),
      { allow },
    );
    expect(results.map(({ error }) => error?.message)).toEqual([
      'No tool "files::writ".',
      'No tool "writ".',
      'No tool "journal::writ".',
      'No tool "ad". Did you mean "journal::add"?',
      'No tool "journal::ad". Did you mean "journal::add"?',
    ]);
    expect(results[0]?.error?.hint).toBe('Tools: "journal::add", "journal::read".');
  });

  test("F3.37 does not make a bare name ambiguous", async () => {
    const { runtime, ran } = world();
    await runtime.open();
    const [clear, unclear] = await Promise.all([
      runtime.execute({ name: "read", input: {} }, { allow: { allow: ["journal::*"] } }),
      runtime.execute({ name: "read", input: {} }, { allow: { allow: ["*"] } }),
    ]);
    expect([clear.name, clear.status, ran]).toEqual(["journal::read", "ok", ["read"]]);
    expect([unclear.error?.code, unclear.error?.details]).toEqual(["ambiguous", ["files::read", "journal::read"]]);
  });

  test("F3.37 is hidden from the calls of one execute, also in a session", async () => {
    const { runtime } = world();
    await runtime.open();
    const session = runtime.session();
    const refused = await session.execute([{ name: "files::write", input: {} }], { allow: { deny: ["*::write"] } });
    const done = await session.execute([{ name: "files::write", input: {} }]);
    expect([...refused, ...done].map(({ status }) => status)).toEqual(["error", "ok"]);
  });
});

test("F3.37 a tool is hidden from a simulation too", async () => {
  const { runtime } = world();
  await runtime.open();
  const { results } = await runtime.session().simulate([{ name: "files::read", input: {} }], { allow: { allow: ["journal::*"] } });
  expect(results.map(({ error }) => error?.code)).toEqual(["permission_denied"]);
});

test("F3.37 a visible tool whose toolset did not open reports that, as it would without rules", async () => {
  const open = (): Promise<never> => Promise.reject(new Error("no server"));
  const { runtime } = testRuntime({ toolsets: [{ name: "remote", engine: { kind: "test", call: () => 1, open } }] });
  await runtime.open();
  const name = "remote::read";
  const [seen, hidden] = await Promise.all(
    [{ allow: ["remote::*"] }, { allow: [] }].map((allow) => runtime.execute({ name, input: {} }, { allow })),
  );
  const plain = await runtime.execute({ name, input: {} });
  expect(plain.error?.code).toBe("unavailable");
  expect([seen?.error, hidden?.error?.code]).toEqual([plain.error, "not_found"]);
});

test("F3.37 invalid rules reject before anything runs", async () => {
  const { runtime, ran } = world();
  await runtime.open();
  const allow = { allowed: ["*"] } as VisibilityRules;
  const misuse = { code: "invalid_argument", message: 'A layer of rules has no option "allowed".' };
  await expect(runtime.execute({ name: "files::write", input: {} }, { allow })).rejects.toMatchObject(misuse);
  await expect(runtime.session().execute([{ name: "files::write", input: {} }], { allow })).rejects.toMatchObject(misuse);
  expect(ran).toEqual([]);
});

test("F3.37 a call cannot allow a tool that the runtime does not permit", async () => {
  const { runtime } = testRuntime({ tools: [tool("send", () => "sent")], permission: { deny: ["*::send"] } });
  const { error } = await runtime.execute({ name: "send", input: {} }, { allow: { allow: ["*"] } });
  expect([error?.code, error?.message, error?.operatorHint]).toEqual([
    "permission_denied",
    'The tool "send" is not offered here and was not run.',
    'The permission rules deny default::send by the pattern "*::send".',
  ]);
});

describe("a tool with requiresReading", () => {
  const edit = tool("edit", () => "edited", { requiresReading: true, documentation: "Edit with care." });
  const call = { name: "edit", input: {} };
  const info = { name: "info", input: { name: "edit" } };

  function gated(options: RuntimeOptions = {}): TestRuntime {
    const made = testRuntime({ tools: [edit], ...options });
    made.runtime.registry.addToolset(infoToolset());
    return made;
  }

  test("F1.7 is unavailable where no tool can return its documentation", async () => {
    const { runtime } = testRuntime({ tools: [edit] });
    const { error } = await runtime.execute(call);
    expect([error?.code, error?.message]).toEqual([
      "unavailable",
      "default::edit may be called only after its documentation has been read in this session, and there is no tool to read it with.",
    ]);
  });

  test("F1.7 refuses the first call by naming info, runs after info, and still refuses in another session", async () => {
    const { runtime } = gated();
    const session = runtime.session();
    const [first] = await session.execute([call]);
    expect(first?.error).toEqual({
      code: "permission_denied",
      message:
        'default::edit may be called only after its documentation has been read in this session: call manual::info with {"name":"default::edit"} first.',
      retryable: false,
      outcome: "not_started",
      hint: "Then call it again with what the documentation says.",
      toolNames: ["manual::info"],
    });
    const [read] = await session.execute([info]);
    const [second] = await session.execute([call]);
    expect([read?.output, second?.output]).toEqual(["Edit with care.", "edited"]);
    const [elsewhere] = await runtime.session().execute([call]);
    expect(elsewhere?.error?.code).toBe("permission_denied");
  });

  test("F1.7 is not unlocked by reading about another tool, or by a failed reading", async () => {
    const { runtime } = gated();
    const session = runtime.session();
    await session.execute([
      { name: "info", input: { name: "manual::info" } },
      { name: "info", input: { name: "edti" } },
    ]);
    const [result] = await session.execute([call]);
    expect(result?.error?.code).toBe("permission_denied");
  });

  test("F1.7 stays unlocked in branches and snapshots; a reading in a branch stays there", async () => {
    const { runtime } = gated();
    const session = runtime.session();
    const branch = session.fork();
    await branch.execute([info]);
    const later = branch.fork();
    const restored = runtime.session("restored", { from: JSON.parse(JSON.stringify(await branch.snapshot())) });
    const results = await Promise.all([session, branch, later, restored].map((one) => one.execute([call])));
    expect(results.map(([result]) => result?.status)).toEqual(["error", "ok", "ok", "ok"]);
  });

  test("F1.7 is locked again after the batch of the reading was rolled back", async () => {
    const { runtime } = gated();
    runtime.registry.register(
      tool("fail", () => {
        throw new Error("no");
      }),
    );
    const session = runtime.session();
    await expect(session.execute([info, { name: "fail", input: {} }], { onError: "throw" })).rejects.toThrow("no");
    const [result] = await session.execute([call]);
    expect(result?.error?.code).toBe("permission_denied");
  });

  test("F1.7 refuses a call in the same message as the reading, however late it comes", async () => {
    const { runtime } = gated();
    const session = runtime.session();
    const results = await session.turn(async (turn) => {
      const first = turn.round();
      first.add(info);
      await new Promise((resolve) => setImmediate(resolve));
      expect(session.state("manual", "default::edit")).toMatchObject({ callId: expect.any(String) });
      first.add(call);
      const reply = { content: "", finish: "calls", usage: { inputTokens: 1, outputTokens: 1 } } as const;
      const early = await first.end(reply);
      const second = turn.round();
      second.add(call);
      return [...early, ...(await second.end(reply))];
    });
    expect(results.map(({ status }) => status)).toEqual(["ok", "error", "ok"]);
    const together = await runtime.session().execute([info, call]);
    expect(together.map(({ status }) => status)).toEqual(["ok", "error"]);
  });

  test("F1.7 stays unlocked in a resumed session", async () => {
    const store = memoryStore();
    const begun = gated({ store });
    await begun.runtime.open();
    const session = begun.runtime.session("kept");
    await session.execute([info]);
    await session.close();
    const resumed = await begun.runtime.resume("kept");
    const [result] = await resumed.execute([call]);
    expect(result?.status).toBe("ok");
  });
});
