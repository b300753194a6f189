import { createRuntime, defineTool } from "haft";
import { postgresStore } from "haft/postgres";
import { createWorker } from "haft/server";

const build = defineTool({
  name: "build",
  description: "Builds the project.",
  effects: { writes: "out", idempotent: true },
  mode: "background",
  execute: () => "built",
});
const store = postgresStore({ url: process.env["DATABASE_URL"] ?? "postgres://haft@localhost/haft" });
const runtime = createRuntime({ tools: [build], store });
const worker = createWorker(runtime, { concurrency: 20 });
await worker.start();
process.once("SIGTERM", () => void worker.stop().then(() => runtime.close()));
