/** What is asked of a fleet, and what befalls it, drawn from its seed. */
import type { ToolCall } from "../../../src/core/call.ts";
import { FLEET_TOOLS, KEYS, type FleetOrder } from "./fleet-tools.ts";
import type { FleetWorld } from "./fleet-world.ts";

const SESSIONS = ["one", "two", "three"] as const;

const WEIGHTS = {
  request: 34,
  "request in background": 8,
  "send again": 8,
  "cancel a job": 2,
  "pause a node": 7,
  "kill a node": 3,
  "cut a node off": 4,
  "slow a link": 3,
  "lose answers to commits": 5,
  "restart the database": 3,
  "take over": 2,
  "drain a node": 2,
  "set a clock": 1,
} as const;
type FleetOperation = keyof typeof WEIGHTS;

/** Asks one thing after the other, and sees all of it to its end. */
export async function operateFleet(world: FleetWorld, operations: number): Promise<void> {
  const operator = new FleetOperator(world);
  await world.advance(50);
  for (let step = 1; step <= operations; step++) {
    world.steps = step;
    operator.ask(world.dice.weighted(WEIGHTS));
    await world.advance(world.dice.of([0, 2, 10, 30, 100, 300, 700]));
  }
  await world.end();
}

class FleetOperator {
  readonly #world: FleetWorld;
  #calls = 0;

  constructor(world: FleetWorld) {
    this.#world = world;
  }

  ask(operation: FleetOperation): void {
    const world = this.#world;
    const { dice, trace, clock } = world;
    const node = dice.of(world.nodes);
    trace.add(clock.now(), `operation on ${node.life}`, operation);
    world.seen(`operation: ${operation}`);
    switch (operation) {
      case "request":
        return this.#request(false);
      case "request in background":
        return this.#request(true);
      case "send again":
        return this.#sendAgain();
      case "cancel a job":
        return this.#cancelJob();
      case "pause a node":
        return world.pauseOne();
      case "kill a node":
        return world.kill(node);
      case "cut a node off":
        return world.cut(node);
      case "slow a link":
        return world.slow(node);
      case "lose answers to commits":
        return void (node.link.lostAnswers += dice.between(1, 3));
      case "restart the database":
        return world.restartDatabase();
      case "take over":
        return world.takeOver(node, dice.of(SESSIONS));
      case "drain a node":
        return world.drain(node);
      case "set a clock":
        return void (node.clock.aheadMs = dice.of([-600_000, -60_000, 0, 60_000, 600_000]));
    }
  }

  #request(background: boolean): void {
    const { dice } = this.#world;
    const calls = Array.from({ length: dice.between(1, 3) }, () => this.#call(background));
    const idempotencyKey = `request ${this.#calls}`;
    this.#world.ask({ idempotencyKey, sessionId: dice.of(SESSIONS), calls, background });
  }

  #call(background: boolean): ToolCall {
    const { dice } = this.#world;
    const tag = `call ${++this.#calls}`;
    const ms = background ? dice.of([100, 1_000, 5_000]) : dice.of([0, 5, 40, 300, 1_500]);
    const name = dice.of(FLEET_TOOLS);
    const order: FleetOrder = { tag, key: dice.of(KEYS), ms: name === "counters::bump" ? Math.max(ms, 300) : ms };
    return { id: tag, name, input: order };
  }

  #sendAgain(): void {
    const { asked, dice } = this.#world;
    if (asked.length > 0) this.#world.send(dice.of(asked));
  }

  #cancelJob(): void {
    const world = this.#world;
    const node = world.dice.of(world.nodes);
    const [job] = world.server.rows("select session, id from haft_job where ended_at is null limit 1");
    if (job === undefined || !node.isUp || node.clock.isPaused) return;
    const name = { sessionId: JSON.parse(String(job["session"])), id: JSON.parse(String(job["id"])), reason: "an operator asked" };
    node.store.jobs.requestCancel(name).then(
      () => world.seen("job cancelled from any node"),
      () => {},
    );
  }
}
