/** Tests a custom engine against the contract of all engines. */
import assert from "node:assert/strict";
import type { Engine } from "haft";
import { scriptedModel } from "haft/model";
import { engineContract, modelContract, type EngineSubject, type ModelSubject } from "haft/testing";

/** Keeps its count in the session's state, so forks and simulations work without further code. */
const counter = (): Engine => ({
  kind: "counter",
  order: "sequential",
  state: "value",
  effectFree: true,
  call: (_, { state }) => {
    state.update("count", (before) => Number(before ?? 0) + 1);
    return { count: state.get("count") ?? 0 };
  },
});
/** Keeps its count in a variable, which all sessions share. */
const forgetful = (): Engine => {
  let count = 0;
  return { kind: "forgetful", order: "sequential", state: "value", effectFree: true, call: () => ({ count: ++count }) };
};

const add = { name: "add", description: "Counts one more.", inputSchema: { type: "object" } } as const;
const subjectOf = (engine: () => Engine): EngineSubject => ({ engine, tools: [add], calls: [{ name: "add" }, { name: "add" }] });

// In a test: test.each(cases)("$title", (one) => one.run(subject));
for (const engine of [counter, forgetful]) {
  const subject = subjectOf(engine);
  const cases = engineContract.filter((one) => one.appliesTo(subject));
  const broken: string[] = [];
  for (const one of cases) await one.run(subject).catch(() => broken.push(one.title));
  console.log(`${engine().kind}: ${broken.length === 0 ? "keeps what engines promise" : "breaks:"}`);
  for (const title of broken) console.log(`  ${title}`);
  assert.equal(broken.length === 0, engine === counter);
}

const request = { messages: [{ role: "user", content: "Hello.", at: 0 }] } as const;
const subject: ModelSubject = { model: () => scriptedModel(() => ({ text: "Hello to you." })), requests: [request] };
for (const one of modelContract) if (one.appliesTo(subject)) await one.run(subject);
console.log("the model keeps what models promise");

/* Prints:
counter: keeps what engines promise
forgetful: breaks:
  an odd input ends in a result, and leaves nothing behind
  calls of two sessions do not mix
  a branch does not change its parent
  a simulation does not change the session
  a session that is restored from its snapshot continues where it was
the model keeps what models promise
*/
