import { once } from "node:events";
import { expect, test } from "vitest";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { endServer, startServer } from "../../src/processes/server-process.ts";
import { IN_CI, inCI } from "../ci.ts";

/** Starts helpers that leave its process group, of which one ignores SIGTERM and outlives the process that started it, and ends with its input. */
const SERVER = `
const { spawn } = require("node:child_process");
const run = (code) => spawn(process.execPath, ["-e", code], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
const stubborn = 'process.on("SIGTERM", () => {}); console.log(process.pid); setInterval(() => {}, 1000)';
const between = 'const child = require("node:child_process").spawn(process.execPath, ["-e", ' + JSON.stringify(stubborn) +
  '], { detached: true, stdio: ["ignore", "pipe", "ignore"] }); child.stdout.once("data", (pid) => { console.log(String(pid)); process.exit(); })';
let pids = "";
for (const code of [between, "console.log(process.pid); setInterval(() => {}, 1000)"])
  run(code).stdout.once("data", (pid) => {
    pids += String(pid).trim() + " ";
    if (pids.split(" ").length === 3) console.log(pids);
  });
process.stdin.resume().on("end", () => process.exit());
`;

test.skipIf(!inCI || process.platform !== "linux")(`helpers that have left their server's process group end with it ${IN_CI}`, async () => {
  const child = startServer({ command: process.execPath, args: ["-e", SERVER], env: { HAFT_SERVER: "another" } });
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  const helpers = said.toString().trim().split(" ").map(Number);
  const isThere = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  expect(helpers.map(isThere)).toEqual([true, true]);
  await endServer(child, systemPorts.clock);
  while (helpers.some(isThere)) await new Promise((resolve) => setImmediate(resolve)); // they are killed, and may not be buried yet
});
