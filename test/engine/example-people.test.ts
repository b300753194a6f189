/** Lists of people and of a person's things, from tools that do not say what they return (issue 16, point 3: one person). */
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import type { JsonSchema, Tool } from "../../src/core/tool.ts";
import { exampleEngine } from "../../src/engine/example.ts";
import { usualFields } from "../../src/engine/example/usual-fields.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { exampleValue } from "../../src/schema/example/example-value.ts";

async function answer(tool: Partial<Tool> & { readonly name: string }, input: JsonObject): Promise<JsonObject> {
  const inputSchema: JsonSchema = { type: "object" };
  const answers = { engines: { example: exampleEngine({ seed: 4 }) }, rules: [{ tools: "*", from: "example" as const }] };
  const runtime = createRuntime({ toolsets: [{ name: "club", tools: [{ description: "", inputSchema, ...tool }] }], answers });
  const session = runtime.session();
  const { output } = await session.execute({ name: `club::${tool.name}`, input });
  await runtime.close();
  if (!isJsonObject(output)) throw new Error("the answer is no object");
  return output;
}

const itemsOf = (output: JsonObject, name: string): readonly JsonObject[] => {
  const list = output[name];
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
};
const all = (items: readonly JsonObject[], name: string): readonly unknown[] => items.map((item) => item[name]);

test("followers of a user have names and user names of their own, and the user's own is beside the list", async () => {
  const output = await answer({ name: "list_followers", description: "Lists the user followers." }, { username: "rowan_31" });
  const items = itemsOf(output, "followers");

  expect(output["username"]).toBe("rowan_31");
  expect(items.length).toBeGreaterThan(1);
  expect(new Set([...all(items, "username"), "rowan_31"]).size).toBe(items.length + 1);
  expect(new Set(all(items, "name")).size).toBe(items.length);
});

test("followers also have user names of their own if the tool has an output schema", async () => {
  const properties = { username: { type: "string" }, email: { type: "string" } };
  const person = { type: "object", properties, required: ["username", "email"] };
  const outputSchema = {
    type: "object",
    properties: { username: { type: "string" }, followers: { type: "array", minItems: 3, items: person } },
    required: ["username", "followers"],
  };
  const output = await answer({ name: "get_followers", outputSchema }, { username: "rowan_31" });
  const items = itemsOf(output, "followers");

  expect(output["username"]).toBe("rowan_31");
  expect(new Set([...all(items, "username"), "rowan_31"]).size).toBe(items.length + 1);
  expect(all(items, "email")).toEqual(items.map(() => expect.stringMatching(/^[^@\s]+@[^@\s]+$/u)));
  expect(new Set(all(items, "email")).size).toBe(items.length);
});

test("items of a user contain no user name, email or phone, and the user's name is beside them", async () => {
  const output = await answer({ name: "list_tasks", description: "Lists the tasks of a user." }, { username: "rowan_31" });
  const items = itemsOf(output, "tasks");

  expect(output["username"]).toBe("rowan_31");
  expect(items.length).toBeGreaterThan(1);
  expect(items.flatMap((item) => ["username", "email", "phone"].filter((name) => Object.hasOwn(item, name)))).toEqual([]);
  expect(all(items, "name").filter((name) => /^[A-Z][a-z]+ [A-Z][a-z]+$/u.test(String(name)))).toEqual([]);
});

test("a search for a user by email returns exactly that user", async () => {
  const output = await answer({ name: "search_users", description: "Finds a user by email." }, { email: "rowan.hale@example.com" });

  expect(all(itemsOf(output, "users"), "email")).toEqual(["rowan.hale@example.com"]);
  expect(output["total"]).toBe(1);
});

test("an answer without an output schema agrees with the names and array lengths of the input", async () => {
  const call = { first_name: "Rowan", last_name: "Hale" };
  const made = await answer({ name: "generate_email", description: "Makes an email for a user." }, call);
  expect(made["email"]).toBe("rowan.hale@example.com");
  const counted = await answer({ name: "min_rooms", description: "The number of rooms." }, { intervals: ["a", "b", "c"] });
  expect(counted["count"]).toBe(3);
});

test("the first name of a user is a first name, not a user name", () => {
  const first = { type: "string", description: "The first name of the user" };
  const schema = { type: "object", properties: { first_name: first }, required: ["first_name"] };
  const values = Array.from({ length: 20 }, (_, seed) => exampleValue(schema, { random: seededRandom(`s${seed}`) }).value);
  for (const value of values) expect(value).toEqual({ first_name: expect.stringMatching(/^[A-Z][a-z]+$/u) });
});

test("usual fields of every topic have valid property names", () => {
  const topics =
    "recipe restaurant hotel song movie book game news job stock sport car property meeting task flight weather animal course image";
  const names = topics
    .split(" ")
    .flatMap((topic) => Object.keys(usualFields({ name: `get_${topic}`, description: `A ${topic}.` }, { noun: topic, maxFields: 20 })));
  expect(names.length).toBeGreaterThan(60);
  expect(names.filter((name) => !/^[a-z][a-z\d_]*$/u.test(name))).toEqual([]);
});
