import { describe, expect, test } from "vitest";
import { describedIntent } from "../../src/engine/example/tool-intent.ts";
import { usualFields } from "../../src/engine/example/usual-fields.ts";
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import { exampleEngine } from "../../src/engine/example.ts";
import { exampleValue } from "../../src/schema/example/example-value.ts";
import { TOPICS_FOR_TESTS } from "./usual-tools.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

const fieldsOf = (name: string, description: string, maxFields = 4) =>
  Object.keys(usualFields({ name, description }, { noun: "", maxFields }));

async function answerOf(name: string, description: string, input: object) {
  const tool = { name, description, inputSchema: { type: "object" } };
  const runtime = createRuntime({ toolsets: [{ name: "s", engine: exampleEngine({ seed: 1 }), tools: [tool] }] });
  const result = await runtime.execute({ name: `s::${name}`, input });
  await runtime.close();
  return result.output as Record<string, unknown>; // an object, which each test looks at
}

describe("issue 16.3 tools without an output schema", () => {
  test("answer with the fields that their description names, before the usual fields of their topic", () => {
    expect(fieldsOf("city_air", "Returns the humidity and wind of a city.", 2)).toEqual(["humidity", "wind_speed"]);
    expect(fieldsOf("geocode", "Find the coordinates of an address.", 2)).toEqual(["latitude", "longitude"]);
    expect(fieldsOf("shorten_money", "Convert an amount into another currency.")).toContain("result");
  });

  test("answer with the usual fields of their topic: the same each time, but not the same for all tools of a topic", () => {
    const hotels = ["hotel_facts", "hotel_page", "hotel_card", "one_hotel"].map((name) => fieldsOf(name, "About a hotel.").join());
    expect(new Set(hotels).size).toBeGreaterThan(1);
    expect(fieldsOf("hotel_facts", "About a hotel.")).toEqual(fieldsOf("hotel_facts", "About a hotel."));
  });

  test.each(TOPICS_FOR_TESTS)("%s: every field has a value, and no string stands for a number", (about) => {
    const fields = usualFields({ name: "look", description: about }, { noun: "", maxFields: 40 });
    expect(Object.keys(fields).length).toBeGreaterThan(2);
    const properties = { type: "object", properties: fields, required: Object.keys(fields) };
    const { value, valid } = exampleValue(properties, { random: seededRandom(3), about });
    expect(valid).toBe(true);
    for (const [name, one] of Object.entries(value as object))
      if (/_(?:minutes|km|kg|count|percent|bytes)$/u.test(name)) expect([name, typeof one]).toEqual([name, "number"]);
  });

  test("never contradict their input, and add further fields", async () => {
    const answer = await answerOf("get_weather", "Get the temperature and humidity of a city.", { city: "Oslo", humidity: 50 });
    expect(answer).toMatchObject({ city: "Oslo", humidity: 50, temperature: expect.any(Number) });
    expect(answer).not.toHaveProperty("status");
  });

  test("answer with an array if their description promises a list, and give people names of people", async () => {
    const { team_members: members, total } = await answerOf("team_members", "Get a list of all members of a team.", { team: "red" });
    expect(total).toBe(Array.isArray(members) ? members.length : undefined);
    expect(members).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: expect.stringMatching(/^\p{Lu}\p{L}+ \p{Lu}\p{L}+$/u) })]),
    );
  });

  test("are classified as reads by their description before a later word of the name; hostile names do no harm", () => {
    expect(describedIntent("a::team_schedule", "Get the schedule of a team.").verb).toBe("read");
    expect(describedIntent("a::schedule_meeting", "Get people together: schedules a meeting.").verb).toBe("create");
    expect(describedIntent("a::getallchannels", "Get a list of all public channels.")).toMatchObject({ verb: "list", noun: "channel" });
    expect(describedIntent("a::__proto__", "constructor toString ".repeat(10_000)).verb).toBe("other");
    expect(fieldsOf("__proto__", "constructor hasOwnProperty valueOf")).toHaveLength(4);
  });
});
