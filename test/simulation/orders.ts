/** Calls drawn from the seed of a world. */
import type { ToolCall } from "../../src/core/call.ts";
import { DEEDS, KEYS, type Deed, type Order } from "./deeds.ts";
import { RULES } from "./tools.ts";
import type { World } from "./world.ts";

const TOOLS = [...Object.keys(RULES), "bank::wire", "notes::note", "notes::note", "notes::recall", "parts::compose"];
const CACHED = TOOLS.filter((name) => RULES[name]?.cache !== undefined);

export class Orders {
  /** How many were drawn. */
  calls = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** A call of a tool, told to do this or anything. */
  call(name: string = this.#world.dice.of(TOOLS), deed?: Deed): ToolCall {
    const { dice } = this.#world;
    const n = ++this.calls;
    if (RULES[name]?.cache !== undefined) return this.cachedCall(deed, name);
    const order: Order = {
      tag: `call ${n}`,
      key: dice.of(KEYS),
      deed: deed ?? (dice.chance(0.45) ? dice.of(["now", "wait", "early"]) : dice.of(DEEDS)),
      ms: dice.of([0, 1, 5, 20, 45, 80]),
      failures: dice.of([1, 1, 2, 5]),
    };
    this.#world.seen(`deed: ${order.deed}`);
    return { id: `id ${n}`, name, input: dice.chance(0.05) ? this.#broken(order) : order };
  }

  /** One of few, so that equal calls come again. */
  cachedCall(deed?: Deed, name: string = this.#world.dice.of(CACHED)): ToolCall {
    const { dice } = this.#world;
    const order: Order = {
      tag: "read",
      key: dice.of(KEYS),
      deed: deed === "wait" || dice.chance(0.8) ? "wait" : dice.of(["throw", "flaky", "late", "never"]),
      ms: 5,
      failures: 1,
    };
    return { id: `id ${++this.calls}`, name, input: order };
  }

  /** As a model may get it wrong. */
  #broken(order: Order): unknown {
    const { dice } = this.#world;
    const broken = [
      { ...order, key: "z" },
      { ...order, ms: String(order.ms) },
      { ...order, more: 1 },
      "{",
      null,
      [order],
      { tag: order.tag },
    ];
    return dice.of(broken);
  }

  /** As the calls of one message: some alike, some wrong, some of tools that there are not. */
  batch(): readonly ToolCall[] {
    const { dice } = this.#world;
    const calls = Array.from({ length: dice.between(1, 5) }, () => this.call(dice.chance(0.03) ? "bank::pya" : dice.of(TOOLS)));
    const [first] = calls;
    if (first === undefined || !dice.chance(0.1)) return calls;
    const { tag } = { tag: undefined, ...(typeof first.input === "object" ? first.input : {}) };
    if (typeof tag === "string") this.#world.invariants.ordered(tag, 2);
    return [...calls, { ...first, id: `id ${++this.calls}` }];
  }
}
