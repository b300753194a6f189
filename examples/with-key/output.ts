/** Gets an answer that matches a schema from a provider's model. Needs an API key. */
import { createRuntime } from "haft";
import { z } from "zod";

const runtime = createRuntime();
const loop = runtime.loop({ model: "anthropic/claude-sonnet-5" });
const { output } = await loop.run("What is the weather in Oslo?", { output: z.object({ city: z.string(), celsius: z.number() }) });
console.log(output?.city, (output?.celsius ?? 0) + 1);
await runtime.close();
