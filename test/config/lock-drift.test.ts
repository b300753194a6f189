import { expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { compareLock, pinToolset, updateLock, type SeenToolset } from "../../src/config/trust/lock-drift.ts";
import { parseLock, lockText } from "../../src/config/trust/lock-file.ts";
import { sourceHash, variableNames } from "../../src/config/tools/tool-origin.ts";
import type { LockData } from "../../src/trust/pinned-tool.ts";

const tool = (name: string, description = `Does ${name}.`, version = "1.0.0"): Tool => ({
  name,
  description,
  inputSchema: { type: "object" },
  metadata: { server: { name: "srv", version } },
});
const seen = (name: string, tools: readonly Tool[], source = "s"): SeenToolset => ({ name, source, tools });
const EMPTY: LockData = { toolsets: new Map() };
const PINNED: LockData = { toolsets: new Map([["fs", pinToolset(seen("fs", [tool("a"), tool("b"), tool("c")]))]]) };

test("D02 unchanged tools do not drift", () => {
  expect(compareLock(PINNED, [seen("fs", [tool("c"), tool("a"), tool("b")])])).toEqual({
    drifted: false,
    toolsets: [
      {
        toolset: "fs",
        state: "same",
        notes: [],
        tools: [
          { name: "a", state: "same", details: [] },
          { name: "b", state: "same", details: [] },
          { name: "c", state: "same", details: [] },
        ],
      },
    ],
  });
});

test("D02 new, changed and removed tools are listed by name, each change with its difference", () => {
  expect(compareLock(PINNED, [seen("fs", [tool("a", "Does a, and more."), tool("c"), tool("d")])])).toEqual({
    drifted: true,
    toolsets: [
      {
        toolset: "fs",
        state: "changed",
        notes: [],
        tools: [
          { name: "a", state: "changed", details: ['description: was "Does a.", now "Does a, and more."'] },
          { name: "b", state: "removed", details: [] },
          { name: "c", state: "same", details: [] },
          { name: "d", state: "new", details: [] },
        ],
      },
    ],
  });
});

test("J09 a different command or server version changes the toolset although its tools are the same", () => {
  const newer = ["a", "b", "c"].map((name) => tool(name, undefined, "1.1.0\u202e"));
  expect(compareLock(PINNED, [seen("fs", newer, "t")])).toMatchObject({
    drifted: true,
    toolsets: [
      {
        state: "changed",
        notes: [
          "its command, arguments or address are not those that were pinned",
          'the server was "srv" "1.0.0", now "srv" "1.1.0\\u202e"',
        ],
      },
    ],
  });
});

test("D02 an unpinned toolset is new, and one that is no longer configured is removed", () => {
  const { drifted, toolsets } = compareLock(PINNED, [seen("web", [tool("x")])], ["fs"]);
  expect([drifted, toolsets]).toEqual([
    true,
    [
      { toolset: "fs", state: "removed", notes: [], tools: [] },
      { toolset: "web", state: "new", notes: [], tools: [{ name: "x", state: "new", details: [] }] },
    ],
  ]);
});

test("D02 a tool that cannot be pinned is reported as such, never counts as drift, and is left out of the lock", () => {
  const broken: Tool = { ...tool("z"), inputSchema: { maximum: 1n } };
  const toolsets = [seen("fs", [tool("a"), tool("b"), tool("c"), broken])];
  const { drifted, toolsets: drifts } = compareLock(PINNED, toolsets);
  expect([drifted, drifts[0]?.tools.at(-1), updateLock(PINNED, toolsets)]).toEqual([
    false,
    { name: "z", state: "unreadable", details: ["inputSchema cannot be read: $.maximum: a bigint is not JSON"] },
    PINNED,
  ]);
});

test("D02 overloads are compared as a group", () => {
  const two = [tool("a", "One."), tool("a", "Two.")];
  const lock = updateLock(EMPTY, [seen("fs", two)]);
  const states = (tools: readonly Tool[]): readonly string[] =>
    compareLock(lock, [seen("fs", tools)]).toolsets[0]?.tools.map(({ state }) => state) ?? [];
  expect([states(two.toReversed()), states([two[1] ?? tool("a"), tool("a", "Three.")]), states([tool("a", "Two.")])]).toEqual([
    ["same", "same"],
    ["same", "changed"],
    ["same", "removed"],
  ]);
});

test("D02 pinning drifted tools removes the drift, keeps the other toolsets, and round-trips through the file", () => {
  const now = seen("web", [tool("x"), tool("y")]);
  const lock = parseLock(lockText(updateLock(PINNED, [now])), "haft.lock");
  expect([[...lock.toolsets.keys()].toSorted(), compareLock(lock, [now]).drifted, lock.toolsets.get("fs")]).toEqual([
    ["fs", "web"],
    false,
    PINNED.toolsets.get("fs"),
  ]);
  expect([...updateLock(PINNED, [], ["fs"]).toolsets]).toEqual([]);
});

test("J09 the source hash changes with command, arguments or address, and with nothing else", () => {
  const base = { type: "mcp", command: "npx", args: ["-y", "srv@1.0.0"], env: { TOKEN: "secret" } };
  const hashes = [
    base,
    { ...base, env: {}, timeoutMs: 5 },
    { ...base, args: ["-y", "srv@1.0.1"] },
    { ...base, command: "bunx" },
    { type: "mcp", url: "https://a.example/mcp" },
  ].map(sourceHash);
  expect([hashes[0] === hashes[1], new Set(hashes).size, sourceHash({ type: "files" })]).toEqual([true, 4, undefined]);
});

test("D20 J05 variables are pinned by name, so that a lock has no secrets and is equal on all machines", () => {
  expect(variableNames({ HOME: "/home/me", TOKEN: "secret", GONE: undefined })).toEqual({ HOME: "${HOME}", TOKEN: "${TOKEN}" });
});
