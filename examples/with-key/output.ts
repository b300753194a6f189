/** An answer as a value of a schema, of a model that is asked for real, so it needs a key. */
import { createRuntime } from "haft";
import { z } from "zod";

const runtime = createRuntime();
const loop = runtime.loop({ model: "anthropic/claude-sonnet-5" });
const { output } = await loop.run("What is the weather in Oslo?", { output: z.object({ city: z.string(), celsius: z.number() }) });
console.log(output?.city, (output?.celsius ?? 0) + 1);
await runtime.close();
