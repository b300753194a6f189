import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, watch } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { PATIENCE_MS, PROJECT, folderWith, haft, type Control } from "./run-haft.ts";
import { IN_CI, inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

const SERVER = fileURLToPath(new URL("dist/index.js", import.meta.resolve("@modelcontextprotocol/server-everything/package.json")));

/** A real MCP server beside the local functions; it leaves its process id in a file. */
const WITH_SERVER = {
  ...PROJECT,
  "haft.toml": `${PROJECT["haft.toml"]}\n[toolsets.server]\ntype = "mcp"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["server.mjs", "stdio"]\nopenTimeoutMs = 30000\n`,
  "server.mjs": `import { writeFileSync } from "node:fs"; writeFileSync("server.pid", String(process.pid)); await import(${JSON.stringify(pathToFileURL(SERVER).href)});`,
};

const HANGING = `${JSON.stringify({
  role: "assistant",
  calls: [
    { name: "server::trigger-long-running-operation", input: { duration: 60, steps: 2 } },
    { name: "math::hang", input: {} },
  ],
})}\n`;

function serverIsRunning(folder: string): boolean {
  const pid = readFileSync(join(folder, "server.pid"), "utf8");
  try {
    return pid !== "" && process.kill(Number(pid), 0) && !isZombie(pid);
  } catch {
    return false; // ESRCH
  }
}

/** Dead, and only waiting for a parent that never looks: in a container there may be none that does. */
function isZombie(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false; // no such file system
  }
}

describe.concurrent("signals", { timeout: PATIENCE_MS }, () => {
  test.for(inCI ? (["SIGINT", "SIGTERM"] as const) : (["SIGINT"] as const))(
    "%s cancels running calls, closes the toolsets and exits with the signal's exit code",
    async (signal) => {
      const folder = folderWith(WITH_SERVER);
      let ranBefore = false;
      let sent = false;
      const finished = await haft(["run", "-", "--json"], {
        folder,
        input: HANGING,
        onOutput({ stderr }, control) {
          if (!stderr.includes("hanging") || sent) return;
          ranBefore = serverIsRunning(folder);
          sent = true;
          control.signal(signal);
        },
      });
      const statuses = finished.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).status ?? JSON.parse(line).error.code);
      expect({ exitCode: finished.exitCode, statuses, ranBefore, runsAfter: serverIsRunning(folder) }).toEqual({
        exitCode: signal === "SIGINT" ? 130 : 143,
        statuses: ["cancelled", "cancelled", "cancelled"],
        ranBefore: true,
        runsAfter: false,
      });
      expect(finished.stderr.trimEnd().split("\n").at(-1)).toBe(`haft: cancelled: Stopped by ${signal === "SIGINT" ? "Ctrl-C" : signal}.`);
    },
  );

  testInCI("Ctrl-C stops a server that never finishes opening", async () => {
    const config = `[toolsets.stuck]\ntype = "mcp"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["stuck.mjs"]\nopenTimeoutMs = 60000\n`;
    const stuck = `import { writeFileSync } from "node:fs"; process.stdin.resume(); writeFileSync("server.pid", String(process.pid));`;
    const folder = folderWith({ "haft.toml": config, "stuck.mjs": stuck });
    const { promise: opening, resolve } = Promise.withResolvers<void>();
    const watcher = watch(folder, (_event, file) => file === "server.pid" && serverIsRunning(folder) && resolve());
    const finished = await haft(["list"], { folder, onStart: (control) => void opening.then(() => control.signal("SIGINT")) });
    watcher.close();
    expect(finished).toEqual({ exitCode: 130, stdout: "", stderr: "haft: cancelled: Stopped by Ctrl-C.\n" });
    await vi.waitFor(() => expect(serverIsRunning(folder)).toBe(false));
  });

  testInCI("a second Ctrl-C does not wait for a server that is slow to exit", async () => {
    const slow = `${WITH_SERVER["server.mjs"]}\nprocess.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`;
    let signals = 0;
    const folder = folderWith({ ...WITH_SERVER, "server.mjs": slow });
    const { exitCode, stdout } = await haft(["run", "-", "--record", "out.jsonl"], {
      folder,
      input: HANGING,
      onOutput({ stdout: text, stderr }, control) {
        if ((signals === 0 && stderr.includes("hanging")) || (signals === 1 && text.includes("both answered"))) {
          signals++;
          control.signal("SIGINT");
        }
      },
    });
    expect({ exitCode, signals, sumUp: stdout.includes("summary") }).toEqual({ exitCode: 130, signals: 2, sumUp: false });
    expect(readdirSync(folder).filter((name) => /part|out/u.test(name))).toEqual([]);
  });

  testInCI("repeated SIGHUP, which shells send when their terminal closes, changes nothing", async () => {
    const slow = `${WITH_SERVER["server.mjs"]}\nprocess.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`;
    const folder = folderWith({ ...WITH_SERVER, "server.mjs": slow });
    let signals = 0;
    const { exitCode, stdout } = await haft(["run", "-"], {
      folder,
      input: HANGING,
      onOutput({ stdout: text, stderr }, control) {
        if ((signals === 0 && stderr.includes("hanging")) || (signals === 1 && text.includes("both answered"))) {
          signals++;
          control.signal("SIGHUP");
        }
      },
    });
    expect({ exitCode, signals, sumUp: stdout.includes("summary") }).toEqual({ exitCode: 129, signals: 2, sumUp: true });
    expect(serverIsRunning(folder)).toBe(false);
  });

  testInCI("a second SIGTERM ends the process at once, with the signal visible to shells", async () => {
    const slow = `${WITH_SERVER["server.mjs"]}\nprocess.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`;
    let signals = 0;
    const { exitCode, stdout } = await haft(["run", "-"], {
      folder: folderWith({ ...WITH_SERVER, "server.mjs": slow }),
      input: HANGING,
      onOutput({ stdout: text, stderr }, control) {
        if ((signals === 0 && stderr.includes("hanging")) || (signals === 1 && text.includes("both answered"))) {
          signals++;
          control.signal("SIGTERM");
        }
      },
    });
    expect({ exitCode, signals, sumUp: stdout.includes("summary") }).toEqual({ exitCode: 143, signals: 2, sumUp: false });
  });

  test("a second Ctrl-C does not wait for a store that another process has locked", async () => {
    const config = `[store]\npath = "locked.db"\nbusyTimeoutMs = 600000\n`;
    const folder = folderWith({ "haft.toml": config });
    await haft(["store", "migrate"], { folder });
    const holder = new DatabaseSync(join(folder, "locked.db"));
    holder.exec("BEGIN EXCLUSIVE");
    const interruptTwice = async ({ signal }: Control): Promise<void> => {
      await setTimeout(1_500); // by then it waits for the lock
      for (let count = 0; count < 2; count++) {
        signal("SIGINT");
        await setTimeout(100);
      }
    };
    try {
      const finished = haft(["keys", "add", "ann", "--scope", "read"], {
        folder,
        onStart: (control) => void interruptTwice(control),
      });
      expect((await finished).exitCode).toBe(130);
    } finally {
      holder.close();
    }
  });

  test.skipIf(!inCI || spawnSync("mkfifo", ["--version"]).status !== 0)(
    `a named pipe in place of the store is refused without waiting for its writer ${IN_CI}`,
    async () => {
      const folder = folderWith(PROJECT);
      spawnSync("mkfifo", [join(folder, "fifo.db")]);
      for (const args of [
        ["sessions", "list"],
        ["store", "check"],
      ]) {
        const { exitCode, stderr } = await haft([...args, "--store", "fifo.db"], { folder, ownProcess: true });
        expect([exitCode === 0, stderr]).toEqual([
          false,
          expect.stringContaining("could not be opened: it is a pipe, a socket or a device, not a file."),
        ]);
      }
    },
  );

  test("an error outside any call stops the run like a signal, and exits with 1", async () => {
    const { exitCode, stdout, stderr } = await haft(["run", "-", "--json"], {
      folder: folderWith({
        ...PROJECT,
        "math.mjs": `export const stray = { name: "stray", description: "", inputSchema: {}, execute: () => new Promise(() => setImmediate(() => { throw new Error("lost"); })) };`,
      }),
      input: '{"role": "assistant", "calls": [{"name": "stray"}]}',
      ownProcess: true,
    });
    const [result, error] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect({ exitCode, stderr, status: result.status, code: error.error.code }).toEqual({
      exitCode: 1,
      stderr: "haft: execution_failed: Something threw outside any call: lost\n",
      status: "cancelled",
      code: "execution_failed",
    });
  });

  test("Ctrl-Break on Windows stops the run as SIGTERM does", async () => {
    const finished = await haft(["run", "-", "--json"], {
      folder: folderWith({
        ...WITH_SERVER,
        "math.mjs": `export const halt = { name: "halt", description: "", inputSchema: {}, execute: () => new Promise(() => process.emit("SIGBREAK", "SIGBREAK")) };`,
      }),
      input: '{"role": "assistant", "calls": [{"name": "halt"}]}',
      ownProcess: true,
    });

    expect({ exitCode: finished.exitCode, stderr: finished.stderr }).toEqual({
      exitCode: 143,
      stderr: "haft: cancelled: Stopped by SIGTERM.\n",
    });
  });

  test("a finished call exits at once although its tool left a timer behind", async () => {
    const { exitCode, stdout } = await haft(["call", "math::leak"], {
      folder: folderWith({
        ...PROJECT,
        "math.mjs": `export const leak = { name: "leak", description: "", inputSchema: {}, effects: { reads: [] }, execute() { setInterval(() => {}, 1000); return "done"; } };`,
      }),
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "done\n" });
  });
});
