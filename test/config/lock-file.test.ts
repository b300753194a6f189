import { createHash } from "node:crypto";
import { chmodSync, readFileSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { lockPath, lockText, parseLock, readLock, writeLock } from "../../src/config/trust/lock-file.ts";
import { pinToolset } from "../../src/config/trust/lock-drift.ts";
import type { LockData } from "../../src/trust/pinned-tool.ts";
import { configError, configFolder } from "./config-folder.ts";

const READ: Tool = {
  name: "read",
  description: "Reads \u202ea \u{e0041}file\u001b.",
  inputSchema: { type: "object", properties: { path: { type: "string" }, all: { type: "boolean" } }, additionalProperties: false },
  metadata: { annotations: {}, server: { name: "fs", version: "1.0.0" } },
};
const LONG: Tool = { name: "long", description: "x".repeat(20_000), inputSchema: true, effects: { destructive: true } };

const LOCK: LockData = {
  toolsets: new Map([
    ["web", pinToolset({ name: "web", source: undefined, tools: [] })],
    ["fs", pinToolset({ name: "fs", source: "ab12", tools: [READ, LONG] })],
  ]),
};

test("D02 D04 J09 the text is sorted, one tool per block, without invisible characters, and ends with a line feed", () => {
  expect(lockText(LOCK)).toBe(`{
  "format": "haft-lock",
  "version": 1,
  "toolsets": {
    "fs": {
      "source": "ab12",
      "server": {
        "name": "fs",
        "version": "1.0.0"
      },
      "tools": [
        {
          "name": "long",
          "fingerprint": "${LOCK.toolsets.get("fs")?.tools[0]?.fingerprint ?? ""}",
          "definition": {
            "inputSchema": true,
            "effects": {
              "destructive": true
            }
          },
          "hashed": {
            "description": {
              "sha256": "${createHash("sha256").update(JSON.stringify(LONG.description)).digest("hex")}",
              "bytes": 20002
            }
          }
        },
        {
          "name": "read",
          "fingerprint": "${LOCK.toolsets.get("fs")?.tools[1]?.fingerprint ?? ""}",
          "definition": {
            "description": "Reads \\u202ea \\udb40\\udc41file\\u001b.",
            "inputSchema": {
              "additionalProperties": false,
              "properties": {
                "all": {
                  "type": "boolean"
                },
                "path": {
                  "type": "string"
                }
              },
              "type": "object"
            }
          }
        }
      ]
    },
    "web": {
      "tools": []
    }
  }
}
`);
});

test("D02 a lock round-trips byte for byte, whatever the name of the toolset", async () => {
  const path = join(configFolder(), "haft.lock");
  const lock: LockData = {
    toolsets: new Map([...LOCK.toolsets, ["__proto__", pinToolset({ name: "__proto__", source: "cd", tools: [READ] })]]),
  };
  await writeLock(path, lock);
  const read = await readLock(path);
  expect(read).toEqual(lock);
  expect(read === undefined ? "" : lockText(read)).toBe(readFileSync(path, "utf8"));
});

test("D02 without a file there is no lock, and its path is next to the configuration", async () => {
  expect([await readLock(join(configFolder(), "haft.lock")), lockPath("some/haft.toml")]).toEqual([undefined, "some/haft.lock"]);
});

test("J09 a replaced file keeps its mode, and a symbolic link stays a link", async () => {
  const folder = configFolder({ "real.lock": "old" });
  symlinkSync("real.lock", join(folder, "haft.lock"));
  chmodSync(join(folder, "real.lock"), 0o640);
  await writeLock(join(folder, "haft.lock"), LOCK);
  expect({
    text: readFileSync(join(folder, "real.lock"), "utf8") === lockText(LOCK),
    mode: statSync(join(folder, "real.lock")).mode & 0o777,
    files: readdirSync(folder).toSorted(),
  }).toEqual({ text: true, mode: 0o640, files: ["haft.lock", "real.lock"] });
});

test("J06 a lock in a missing folder cannot be written", async () => {
  const folder = configFolder();
  await expect(writeLock(join(folder, "gone/haft.lock"), LOCK)).rejects.toMatchObject({ code: "store_failed" });
});

/** The text of the lock with one value set, or removed. */
function edited(path: readonly (string | number)[], value?: unknown): string {
  const lock: object = JSON.parse(lockText(LOCK));
  const key = path.at(-1) ?? "";
  const parent = path.slice(0, -1).reduce<object>((at, step) => Reflect.get(at, step), lock);
  if (value === undefined) Reflect.deleteProperty(parent, key);
  else Reflect.defineProperty(parent, key, { value, enumerable: true, configurable: true });
  return JSON.stringify(lock);
}

const DAMAGE: readonly (readonly [what: string, text: string, problem: string])[] = [
  ["is cut", lockText(LOCK).slice(0, 300), "Not valid JSON at line"],
  ["is empty", "", "Not valid JSON"],
  ["repeats a key", '{"format":"haft-lock","format":"x"}', "Not valid JSON"],
  ["holds a merge conflict", "<<<<<<< ours\n{}\n", "Not valid JSON at line 1"],
  ["is a list", "[]", "$ must be an object"],
  ["is of something else", '{"format":"npm"}', '$.format must be "haft-lock"'],
  ["is of a newer version", '{"format":"haft-lock","version":2}', "$.version is 2; this version of Haft reads 1"],
  ["has a key too many", edited(["more"], 1), "$.more is a key that this version of Haft does not know"],
  ["has no toolsets", '{"format":"haft-lock","version":1}', "$.toolsets must be an object"],
  ["has tools that are none", edited(["toolsets", "fs", "tools"], {}), "$.toolsets.fs.tools must be an array"],
  ["has a tool that is none", edited(["toolsets", "fs", "tools", 0], null), "$.toolsets.fs.tools[0] must be an object"],
  ["has a tool without a name", edited(["toolsets", "fs", "tools", 1, "name"]), "$.toolsets.fs.tools[1].name must be a string"],
  [
    "has a definition that somebody edited",
    edited(["toolsets", "fs", "tools", 1, "definition", "description"], "Harmless."),
    '$.toolsets.fs.tools[1].fingerprint is not that of the definition of "read" below it',
  ],
  [
    "has a part twice",
    edited(["toolsets", "fs", "tools", 0, "definition", "description"], "x"),
    "$.toolsets.fs.tools[0].hashed.description is in the definition as well",
  ],
  [
    "has a part that no tool has",
    edited(["toolsets", "fs", "tools", 0, "definition", "constructor"], "x"),
    "$.toolsets.fs.tools[0].definition.constructor is a key that this version of Haft does not know",
  ],
  ["has half a server", edited(["toolsets", "fs", "server", "version"]), "$.toolsets.fs.server.version must be a string"],
  ["has a source of another kind", edited(["toolsets", "fs", "source"], 1), "$.toolsets.fs.source must be a string"],
];

test.each(DAMAGE)("D02 J06 a lock that %s is refused with its place", async (_what, text, problem) => {
  const path = join(configFolder({ "haft.lock": text }), "haft.lock");
  const { message, hint } = await configError(readLock(path));
  expect([message.startsWith(`The lock file ${path} cannot be used: ${problem}`), hint?.startsWith("Restore it")]).toEqual([true, true]);
});

test("J06 a folder in place of the lock is refused", async () => {
  const folder = configFolder({ "haft.lock/x": "" });
  expect((await configError(readLock(join(folder, "haft.lock")))).message).toContain("it is a folder");
});

test("J06 a too deeply nested lock is refused before it is built", () => {
  expect(() => parseLock("[".repeat(100_000), "haft.lock")).toThrow("nests deeper than 160 levels");
});
