/** Sessions with tools of this script: answers must keep to the call and to what the session did before. */
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { exampleEngine } from "../../src/engine/example.ts";
import { createRuntime } from "../../src/index.ts";
import { exampleValue } from "../../src/schema/example/example-value.ts";
import { OBJECT_RULES } from "./object-rules.ts";
import type { Verdicts } from "./verdicts.ts";

const s = (description = "") => ({ type: "string", description });
const n = (description = "") => ({ type: "number", description });
const i = (description = "") => ({ type: "integer", description });
const takes = (properties: JsonObject) => ({ type: "object", properties, required: Object.keys(properties) });

const flight = takes({
  flight_id: s(),
  departure_time: { type: "string", format: "date-time" },
  arrival_time: { type: "string", format: "date-time" },
  duration_minutes: i(),
  price: n(),
  origin: s(),
  destination: s(),
});
const item = takes({ name: s(), quantity: i(), unit_price: n(), line_total: n() });
const TOOLS: readonly Tool[] = [
  {
    name: "search_flights",
    description: "Search flights.",
    inputSchema: takes({
      origin: s("IATA code of the origin airport"),
      destination: s("IATA code of the destination airport"),
      date: s("YYYY-MM-DD"),
      max_price: n("Highest price"),
    }),
    outputSchema: takes({ flights: { type: "array", items: flight }, count: i() }),
  },
  {
    name: "search_hotels",
    description: "Search hotels in a city.",
    inputSchema: takes({
      city: s(),
      budget: n("Most to pay for a night"),
      check_in: s("Date, YYYY-MM-DD"),
      check_out: s("Date, YYYY-MM-DD"),
    }),
    outputSchema: takes({
      hotels: {
        type: "array",
        items: takes({
          hotel_id: s(),
          name: s(),
          city: s(),
          country: s(),
          price_per_night: n(),
          nights: i(),
          total_price: n(),
          rating: n(),
        }),
      },
    }),
  },
  {
    name: "convert_currency",
    description: "Convert an amount.",
    inputSchema: takes({ amount: n(), from: s("ISO currency code"), to: s("ISO currency code") }),
    outputSchema: takes({ rate: n(), converted_amount: n(), from: s(), to: s() }),
  },
  {
    name: "book_hotel",
    description: "Book a hotel.",
    inputSchema: takes({ hotel_id: s(), guest_name: s(), nights: i() }),
    outputSchema: takes({ booking_id: s(), total_price: n(), status: s() }),
  },
  {
    name: "cancel_booking",
    description: "Cancel a booking.",
    inputSchema: takes({ booking_id: s() }),
    outputSchema: takes({ refund_amount: n(), status: s() }),
  },
  {
    name: "place_order",
    description: "Order.",
    inputSchema: takes({ customer_email: s() }),
    outputSchema: takes({ order_id: s(), items: { type: "array", items: item }, subtotal: n(), tax: n(), total: n() }),
  },
  {
    name: "refund_order",
    description: "Refund an order.",
    inputSchema: takes({ order_id: s() }),
    outputSchema: takes({ refund_id: s(), refunded_amount: n() }),
  },
  {
    name: "get_profile",
    description: "Profile of a user.",
    inputSchema: takes({ user_id: s() }),
    outputSchema: takes({
      first_name: s(),
      last_name: s(),
      full_name: s(),
      email: s(),
      username: s(),
      address: takes({ street: s(), city: s(), country: s(), country_code: s(), latitude: n(), longitude: n() }),
    }),
  },
  {
    name: "post_review",
    description: "Post a review of a product.",
    inputSchema: takes({ product: s(), title: s(), review: s("Text of the review"), rating: i("From 1 to 5") }),
    outputSchema: takes({ review_id: s(), status: s() }),
  },
  {
    name: "send_message",
    description: "Send a message.",
    inputSchema: takes({ to: s("E-mail address of the recipient"), subject: s(), body: s() }),
    outputSchema: takes({ message_id: s() }),
  },
  {
    name: "create_ticket",
    description: "Create a support ticket.",
    inputSchema: takes({ title: s(), description: s() }),
    outputSchema: takes({ ticket_id: s(), created_at: s(), due_date: s() }),
  },
  {
    name: "poll_results",
    description: "Results of a poll.",
    inputSchema: takes({ poll_id: s() }),
    outputSchema: takes({ options: { type: "array", items: takes({ name: s(), percentage: n() }) } }),
  },
];

const SESSIONS = 300;

export async function judgeScenarios(verdicts: Verdicts, seed: string): Promise<void> {
  const answers = { engines: { example: exampleEngine() }, rules: [{ tools: "*", from: "example" as const }] };
  const runtime = createRuntime({ toolsets: [{ name: "own", tools: TOOLS }], answers });
  for (let turn = 0; turn < SESSIONS; turn++) {
    const session = runtime.session();
    const seen: Record<string, JsonObject> = {};
    for (const tool of TOOLS) {
      const random = seededRandom(`${seed}|own ${turn}|${tool.name}`);
      const known = Object.fromEntries(Object.values(seen).flatMap((one) => Object.entries(one).filter(([name]) => name.endsWith("_id"))));
      const about = { about: `${tool.name} ${tool.description}` };
      const { value } = exampleValue(tool.inputSchema, { random, given: known, ...about });
      const input = isJsonObject(value) ? value : {};
      const { output } = await session.execute({ name: `own::${tool.name}`, input });
      if (!isJsonObject(output)) continue;
      seen[tool.name] = output;
      for (const one of Object.values(input)) verdicts.text(one);
      verdicts.object();
      for (const object of [input, ...objectsIn(output)])
        for (const [rule, check] of Object.entries(OBJECT_RULES))
          for (const { ok, what } of check(object, {})) verdicts.add(rule, ok, () => `${tool.name} ${what}`);
      judgeAnswer(tool.name, { input, output, seen, verdicts });
    }
    await session.close();
  }
  await runtime.close();
}

function objectsIn(value: JsonValue): readonly JsonObject[] {
  if (isJsonArray(value)) return value.flatMap(objectsIn);
  return isJsonObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

interface Answered {
  readonly input: JsonObject;
  readonly output: JsonObject;
  readonly seen: Readonly<Record<string, JsonObject>>;
  readonly verdicts: Verdicts;
}

function judgeAnswer(name: string, { input, output, seen, verdicts }: Answered): void {
  const say = (rule: string, ok: boolean, what: string): void => verdicts.add(rule, ok, () => `${name} ${what}`);
  const number = (value: JsonValue | undefined): number => (typeof value === "number" ? value : Number.NaN);
  const list = (key: string): readonly JsonObject[] => (isJsonArray(output[key]) ? output[key].filter(isJsonObject) : []);
  if (name === "search_flights")
    for (const one of list("flights")) {
      say(
        "answers keep filters",
        number(one["price"]) <= number(input["max_price"]),
        `price ${String(one["price"])} of at most ${String(input["max_price"])}`,
      );
      say(
        "answers keep filters",
        String(one["departure_time"]).startsWith(String(input["date"])),
        `on ${String(one["departure_time"])}, asked ${String(input["date"])}`,
      );
      say(
        "answers keep filters",
        one["origin"] === input["origin"] && one["destination"] === input["destination"],
        `${String(one["origin"])}-${String(one["destination"])}`,
      );
      const minutes = (Date.parse(String(one["arrival_time"])) - Date.parse(String(one["departure_time"]))) / 60_000;
      say("durations", minutes === number(one["duration_minutes"]), `${minutes} minutes, told ${String(one["duration_minutes"])}`);
    }
  if (name === "search_hotels")
    for (const one of list("hotels")) {
      say(
        "answers keep filters",
        number(one["price_per_night"]) <= number(input["budget"]),
        `${String(one["price_per_night"])} of a budget of ${String(input["budget"])}`,
      );
      say("answers keep filters", one["city"] === input["city"], `in ${String(one["city"])}, asked ${String(input["city"])}`);
      const nights = (Date.parse(String(input["check_out"])) - Date.parse(String(input["check_in"]))) / 86_400_000;
      say("durations", nights === number(one["nights"]), `${nights} nights, told ${String(one["nights"])}`);
      say(
        "sums",
        Math.abs(number(one["nights"]) * number(one["price_per_night"]) - number(one["total_price"])) < 0.05,
        `${String(one["nights"])} nights of ${String(one["price_per_night"])} = ${String(one["total_price"])}`,
      );
    }
  if (name === "convert_currency")
    say(
      "sums",
      Math.abs(number(input["amount"]) * number(output["rate"]) - number(output["converted_amount"])) <= 0.02,
      `${String(input["amount"])} x ${String(output["rate"])} = ${String(output["converted_amount"])}`,
    );
  if (name === "cancel_booking")
    say(
      "refund within paid",
      number(output["refund_amount"]) <= number(seen["book_hotel"]?.["total_price"]),
      `${String(output["refund_amount"])} of ${String(seen["book_hotel"]?.["total_price"])}`,
    );
  if (name === "refund_order")
    say(
      "refund within paid",
      number(output["refunded_amount"]) <= number(seen["place_order"]?.["total"]),
      `${String(output["refunded_amount"])} of ${String(seen["place_order"]?.["total"])}`,
    );
  if (name === "place_order") {
    const sum = list("items").reduce((all, one) => all + number(one["line_total"]), 0);
    say("sums", Math.abs(sum - number(output["subtotal"])) < 0.05, `items ${sum}, subtotal ${String(output["subtotal"])}`);
  }
  if (name === "poll_results") {
    const sum = list("options").reduce((all, one) => all + number(one["percentage"]), 0);
    say("shares make 100", Math.abs(sum - 100) < 0.05, `options make ${sum}%`);
  }
}
