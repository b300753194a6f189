/** Keeps a session in PostgreSQL. Needs a server at DATABASE_URL. */
import { createRuntime, defineTool } from "haft";
import { postgresStore } from "haft/postgres";
import { z } from "zod";

const greet = defineTool({
  name: "greet",
  description: "Greets a person.",
  inputSchema: z.object({ name: z.string() }),
  effects: { reads: [] },
  execute: ({ name }) => `Hello ${name}`,
});
const store = postgresStore({ url: process.env["DATABASE_URL"] ?? "postgres://haft@localhost/haft" });
const runtime = createRuntime({ tools: [greet], store });
const session = await runtime.resume("travel", { create: true });
console.log(await session.execute([{ name: "greet", input: { name: "Ada" } }]));
await runtime.close();
