/** A process that stops itself while a tool's effects are worked out and while its handler runs (`stop`), uses the processor meanwhile (`spin`), or waits (`wait`). Prints what it logs. */
import { writeSync } from "node:fs";
import { createRuntime } from "../../src/runtime/runtime.ts";

const [action = ""] = process.argv.slice(2);

function say(line: unknown): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** Takes so long: of the processor's time, or on the wall. */
function take(ms: number): void {
  if (action === "stop") {
    say({ stopping: true });
    process.kill(process.pid, "SIGSTOP");
  } else if (action === "wait") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  else {
    const before = process.cpuUsage();
    for (let used = 0; used < ms * 1_000;) {
      const { user, system } = process.cpuUsage(before);
      used = user + system;
    }
  }
}

const runtime = createRuntime({
  ports: { log: { debug() {}, warn: (message) => say({ warning: message }) } },
  tools: [
    {
      name: "work",
      description: "Works.",
      inputSchema: true,
      effects: {
        reads: () => {
          take(150);
          return ["a"];
        },
      },
      execute: () => take(1_300),
    },
  ],
});
const { status } = await runtime.execute({ name: "work" });
say({ status });
await runtime.close();
