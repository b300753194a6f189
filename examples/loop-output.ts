/** Gets an answer that matches a schema: it is typed, repaired and validated, and the model is asked again if it does not fit. */
import { createRuntime } from "haft";
import { scriptedModel } from "haft/model";
import { z } from "zod";

const model = scriptedModel([{ text: '{"city": "Oslo"}' }, { text: '{"city": "Oslo", "celsius": "-3"}' }]);
const runtime = createRuntime();
const loop = runtime.loop({ model });

const weather = z.object({ city: z.string(), celsius: z.number() });
const { output, rounds } = await loop.run("What is the weather in Oslo?", { output: weather });
console.log(output?.city, (output?.celsius ?? 0) + 1, `after ${rounds} rounds`);
await runtime.close();

/* Prints:
Oslo -2 after 2 rounds
*/
