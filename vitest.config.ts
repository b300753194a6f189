import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { bundledThreads } from "./test/bundled-threads.ts";
import { LongFirst } from "./test/long-first.ts";

export default defineConfig({
  // Tests and examples import "haft" as its users do, and mean the source.
  ssr: { resolve: { conditions: ["haft-source", "module", "node", "development|production"] } },
  plugins: [bundledThreads],
  test: {
    environment: "node",
    setupFiles: ["./test/sqlite-threads.ts"],
    pool: "forks",
    // Many tests wait for processes and timers. One more worker saves 5 %, and waits that end in time otherwise run out.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongFirst },
    reporters: ["default", "./test/left-to-ci.ts"],
    // A process that a test starts takes a third of the time when Node keeps what it compiled.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/haft-tests", import.meta.url)) },
    // Ends what hangs; it judges no speed, so it leaves room for a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A worker keeps the modules that it has loaded for its next file, which saves a third of the time.
    isolate: false,
    include: ["test/**/*.test.ts"],
    globalSetup: ["./test/bundle-programs.ts"],
  },
});
