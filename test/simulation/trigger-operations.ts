/** What is asked of triggers and channels: added, started, stopped and removed, while messages come and are heard. */
import { isToolError } from "../../src/core/error.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { TriggerDefinition } from "../../src/triggers/session-triggers.ts";
import type { SimulatedProcess } from "./process.ts";
import { ON_BROADCAST, ON_QUEUE, ON_TIME } from "./trigger-invariants.ts";
import type { World } from "./world.ts";

export const TRIGGER_WEIGHTS = {
  "add trigger": 7,
  "remove trigger": 2,
  "start triggers": 3,
  "stop triggers": 1,
  "say on a channel": 10,
  hear: 5,
} as const;
export type TriggerOperation = keyof typeof TRIGGER_WEIGHTS;

const NAMES = ["one", "two", "three"] as const;

export function isTriggerOperation(operation: string): operation is TriggerOperation {
  return Object.hasOwn(TRIGGER_WEIGHTS, operation);
}

export function askTriggers(world: World, process: SimulatedProcess, session: RuntimeSession, operation: TriggerOperation): void {
  const own = process.triggers.of(session);
  switch (operation) {
    case "add trigger":
      if (world.dice.chance(0.7)) own.start(() => {});
      return world.expect(process, operation, own.add(definitionFrom(world)), () => {});
    case "remove trigger":
      return world.expect(process, operation, own.remove(world.dice.of(NAMES)), () => {});
    case "start triggers":
      return own.start(() => {});
    case "stop triggers":
      return world.expect(process, operation, own.stop(), () => {});
    case "say on a channel":
      return say(world, process, session);
    case "hear":
      return hear(world, process, session);
  }
}

/** Stops all that fire by themselves. */
export function stopTriggers(world: World): void {
  for (const process of world.processes)
    for (const session of process.sessions.values()) world.expect(process, "stop triggers", process.triggers.of(session).stop(), () => {});
}

function definitionFrom({ dice }: World): TriggerDefinition {
  const name = dice.of(NAMES);
  switch (dice.of(["timer", "timer", "schedule", "queue", "broadcast", "broadcast", "wrong"] as const)) {
    case "timer":
      return { type: "timer", name, interval: dice.of([0.03, 0.2, 1]), prompt: "tick", immediate: dice.chance(0.3) };
    case "schedule":
      return { type: "schedule", name, cron: "* * * * * *", zone: "UTC", prompt: ON_TIME, catchUp: dice.chance(0.5) };
    case "queue":
      return { type: "channel", name, channel: "queue", prompt: "{content}" };
    case "broadcast":
      return { type: "channel", name, channel: "broadcast", prompt: "{content}" };
    case "wrong":
      return { type: "channel", name, channel: "nowhere" };
  }
}

function say(world: World, process: SimulatedProcess, session: RuntimeSession): void {
  const { channels } = process.triggers;
  const number = ++process.said;
  const isQueue = world.dice.chance(0.5);
  const controller = new AbortController();
  if (world.dice.chance(0.5)) process.clock.timer(() => controller.abort(), 5);
  else if (world.dice.chance(0.2)) controller.abort();
  else process.clock.timer(() => controller.abort(), 200); // nobody may ever read it
  const content = `${isQueue ? ON_QUEUE : ON_BROADCAST} ${process.number}.${number}`;
  const options = { sender: session.id, signal: controller.signal, whenFull: world.dice.of(["wait", "refuse"] as const) };
  const work = channels.get(isQueue ? "queue" : "broadcast").send(content, options);
  world.expect(process, "say on a channel", work, () => {});
}

/** As an agent does: one after the other, once each. */
function hear(world: World, process: SimulatedProcess, session: RuntimeSession): void {
  if (process.hearing.has(session)) return;
  process.hearing.add(session);
  const work = async (): Promise<void> => {
    try {
      for (const { message } of session.inbox) {
        await session.addMessage(message);
        if (world.sabotage === "hear twice") await session.addMessage(message);
      }
    } catch (thrown: unknown) {
      if (!isToolError(thrown)) throw thrown;
    } finally {
      process.hearing.delete(session);
    }
  };
  world.expect(process, "hear", work(), () => {});
}
